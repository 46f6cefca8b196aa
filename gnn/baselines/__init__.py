"""Models that the default is compared with, on the same relations and rounds."""
