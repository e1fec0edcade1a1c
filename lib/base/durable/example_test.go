package durable_test

import (
	"fmt"
	"os"

	"tri/lib/base/durable"
)

// Append is on the disk when it returns; what a killed writer left torn is cut first.
func ExampleLog_Append() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	home, _ := durable.Open(dir)
	defer home.Close()
	_ = os.WriteFile(home.Path("events.ndjson"), []byte("{\"n\":1}\n{\"n\":"), 0o600)
	log, _ := home.OpenLog("events.ndjson")
	defer log.Close()
	_, err := log.Append(func(end int64) ([]byte, error) {
		return fmt.Appendf(nil, "{\"seq\":%d}\n", end), nil
	})
	b, _ := home.ReadFile("events.ndjson")
	fmt.Printf("%s%v\n", b, err)
	// Output:
	// {"n":1}
	// {"seq":8}
	// <nil>
}

// No name leads out of a home.
func ExampleHome_ReadFile() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	home, _ := durable.Open(dir)
	defer home.Close()
	_, err := home.ReadFile("../../etc/passwd")
	fmt.Println(err != nil)
	// Output:
	// true
}
