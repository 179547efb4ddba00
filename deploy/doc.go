// Package deploy holds what makes herald a service of a Linux system: the systemd
// unit and the files for sysusers.d and tmpfiles.d. It has no code; its tests ask
// systemd's own tools what they think of the files, and start no service.
package deploy
