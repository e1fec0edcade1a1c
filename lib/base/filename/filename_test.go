package filename

import "testing"

// TestPrivate: files that hold keys by their names are hidden from readers, and no others.
func TestPrivate(t *testing.T) {
	for name, want := range map[string]bool{
		"node_modules/a/.env": true, "vendor/b/.env": true, "kubeconfig": true, ".my.cnf": true,
		".vault_pass": true, "vault.yml": true, "service-account.json": true, "token.txt": true,
		"appsettings.Production.json": true, "appsettings.json": false, "token.go": false,
		".env.example": false, "testdata/server.key": false, "vault.go": false,
	} {
		if got := Private(name, false, false); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
