"""What Quorate pins and deploys: versions, dates of release, and ends of upstream support."""
