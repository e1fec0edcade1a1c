package event_test

import (
	"fmt"

	"tri/lib/record/event"
)

// A key names a thread's files: readable, safe everywhere, and never shared.
func ExampleKey() {
	fmt.Println(event.Key("slack", "C042", "1791025200.100"))
	fmt.Println(event.Key("local", "dev", "../../etc/passwd"))
	// Output:
	// slack._43042.1791025200_2e100
	// local.dev._2e_2e_2f_2e_2e_2fetc_2fpasswd
}

func ExampleParse() {
	e, err := event.Parse([]byte(`{"seq":512,"platform":"local","chat_id":"dev","message_id":"7",
		"create_time":"2026-03-02T10:00:00Z","content":"where is the retry limit?","thread_id":"3",
		"sender":{"id":"ana","type":"user"},"classification":"actionable","new_field":1}`))
	fmt.Println(e.Sender.ID, e.Classification, e.Key(), *e.Seq, err)
	// Output:
	// ana actionable local.dev.3 512 <nil>
}
