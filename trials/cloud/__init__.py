"""`make cloud`: runs a rendered stack on one Linux machine, with real kubelets."""
