"""Makes the resources of OpenStack: environment, projects, processes, jobs and their storage."""
