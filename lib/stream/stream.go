// Package stream is how records flow: Run is every stage, in a pipe or between
// files; Each is every consumer; Follow reads a growing log. A stage's output is
// its cursor, so that a crash between the two cannot happen (design §4).
package stream
