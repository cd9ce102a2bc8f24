"""Speed of the mesh, as ratios against bare grpc.aio measured in the same run."""
