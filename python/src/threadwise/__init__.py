"""Results of threadwise as frames."""
