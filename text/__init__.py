"""Text of messages and of files: quoting, suggestions for a misspelt name, secrets in clear text."""
