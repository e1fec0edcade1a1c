package all

import (
	"testing"

	"tri/lib/config"
	"tri/lib/sysexit"
)

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		agent, sandbox string
		some           bool
		status         int
	}{
		{"", "", true, 0},
		{"search", "", true, 0},
		{"none", "", false, 0},
		{"claude", "off", true, 0},
		{"claude", "required", false, sysexit.Config},
		{"exec", "off", true, 0},
		{"exec", "", false, sysexit.Config},
		{"nobody", "off", false, sysexit.Config},
	} {
		a, err := New(config.Agent{Agent: tt.agent, Command: []string{"true"}}, tt.sandbox)
		if status, _ := sysexit.Of(err); (a != nil) != tt.some || status != tt.status {
			t.Errorf("%q, sandbox %q: agent %v, %v", tt.agent, tt.sandbox, a, err)
		}
		if err != nil && len(sysexit.Hints(err)) == 0 {
			t.Errorf("%q: no hint: %v", tt.agent, err)
		}
	}
}
