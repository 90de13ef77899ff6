package docs

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/prova-dev/prova/internal/app"
)

// environment lists the variables that fields of a configuration name.
func environment(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if name := f.Tag.Get("env"); name != "" {
			names = append(names, name)
		}
		if f.Type.Kind() == reflect.Struct {
			names = append(names, environment(f.Type)...)
		}
	}
	return names
}

func TestComposeSetsVariablesThatExistAndKeepsArtefactsOnTheirVolume(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Environment map[string]string `yaml:"environment"`
			Volumes     []string          `yaml:"volumes"`
			Secrets     []string          `yaml:"secrets"`
			Ports       []string          `yaml:"ports"`
		} `yaml:"services"`
		Volumes map[string]any                   `yaml:"volumes"`
		Secrets map[string]struct{ File string } `yaml:"secrets"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	control := file.Services["control"]
	known := environment(reflect.TypeFor[app.Config]())
	if len(known) < 30 {
		t.Fatalf("only %d variables found in the configuration", len(known))
	}
	for name, value := range control.Environment {
		if !slices.Contains(known, name) {
			t.Errorf("compose.yaml sets %s, which nothing reads", name)
		}
		if secret, ok := strings.CutPrefix(value, "/run/secrets/"); ok && !slices.Contains(control.Secrets, secret) {
			t.Errorf("%s names the secret %s, which the service does not have", name, secret)
		}
	}
	for _, service := range file.Services {
		for _, secret := range service.Secrets {
			if file.Secrets[secret].File == "" {
				t.Errorf("the secret %s has no file", secret)
			}
		}
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("port %s is open to everybody", port)
			}
		}
	}
	want := "proof-artifacts:" + control.Environment["PROOF_ARTEFACT_ROOT"]
	if !slices.Contains(control.Volumes, want) {
		t.Errorf("volumes %v lack %s", control.Volumes, want)
	}
	if _, ok := file.Volumes["proof-artifacts"]; !ok {
		t.Error("the volume proof-artifacts is not declared")
	}
	if control.Environment["PROVA_PRODUCTION"] != "1" {
		t.Error("compose does not run the control plane as production")
	}
}
