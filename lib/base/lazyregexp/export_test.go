package lazyregexp

// Compile compiles every pattern of the program, for tests, and returns their number.
func Compile() int {
	allMu.Lock()
	defer allMu.Unlock()
	for _, p := range all {
		p.get()
	}
	return len(all)
}
