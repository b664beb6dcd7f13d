# What building Go programs (dev/helm) needs where the host has no Go. A root of its own: dev/root --packages.
golang-go
ca-certificates
