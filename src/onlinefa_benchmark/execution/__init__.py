"""Running fit jobs: devices, child processes, errors, checkpoints, progress and events."""
