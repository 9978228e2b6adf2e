"""Files of Prometheus and Grafana, derived from the plan: scrape targets, alert rules and dashboards."""
