//go:build !failpoint

package failpoint

// Enabled says whether this program has failpoints.
const Enabled = false

// Hit does nothing in a program without failpoints.
func Hit(string) {}
