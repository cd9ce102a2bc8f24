"""What the Dockerfile runs, and what runs the Dockerfile."""
