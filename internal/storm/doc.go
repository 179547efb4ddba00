// Package storm proves that herald publishes never twice and loses nothing. It
// has no code; its tests build the real program, kill it at every moment, break
// everything that it calls, and count what the platforms have in the end.
// docs/RELIABILITY.md says what is proved by which test, and with which command.
package storm
