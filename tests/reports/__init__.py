"""What people reported of clouds like these, each report as a case of its kind."""
