// Command program hits a, b, a and says how far it got.
package main

import (
	"fmt"

	"herald/internal/failpoint"
)

func main() {
	for _, name := range []string{"a", "b", "a"} {
		failpoint.Hit(name)
		fmt.Print(name)
	}
}
