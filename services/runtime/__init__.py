"""What is equal in every process of the mesh: server, deadline, errors, clients, settings, telemetry, lane table."""
