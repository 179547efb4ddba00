// Package failpoint ends the process, or has it told to stop, at a chosen moment
// of its work, so that a test can prove what comes after. It is there only in a
// program built with -tags failpoint; in any other the calls are empty and
// inlined away. It decides nothing: which moments there are is said by who calls
// [Hit].
//
// The environment chooses the moment. FAILPOINT=7 is the seventh hit since the
// start of the process, FAILPOINT=store/commit/after:2 the second one of that
// name. FAILPOINT_SIGNAL is KILL, which is the default, or TERM: the process goes
// on after TERM, as it does when systemd stops it.
package failpoint
