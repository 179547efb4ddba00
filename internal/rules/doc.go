// Package rules holds what is true of herald's source as a whole: which package
// imports which, and what no file contains. It has no code; its tests read the
// source. They say nothing about style, which is the linter's.
package rules
