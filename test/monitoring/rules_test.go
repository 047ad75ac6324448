package monitoring

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"
)

var ruleFiles = []string{"alerts.yaml", "node-alerts.yaml"}

// alertingRules are the rules of all files, as Prometheus loads them: what stands below spec.
func alertingRules(t *testing.T) (all []*rules.AlertingRule) {
	t.Helper()
	manager := rules.NewManager(&rules.ManagerOptions{
		Context: context.Background(), Logger: promslog.NewNopLogger(), Parser: parser.NewParser(parser.Options{}),
	})
	for _, file := range ruleFiles {
		var object struct {
			Kind string
			Spec map[string]any
		}
		if err := yaml.Unmarshal([]byte(read(t, "monitoring", file)), &object); err != nil || object.Kind != "PrometheusRule" {
			t.Fatalf("%s: a %q: %v", file, object.Kind, err)
		}
		text, err := yaml.Marshal(object.Spec)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, path)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", file, errs)
		}
		for _, group := range groups {
			for _, rule := range group.Rules() {
				alert, is := rule.(*rules.AlertingRule)
				if !is {
					t.Fatalf("%s: %s is no alert", file, rule.Name())
				}
				all = append(all, alert)
			}
		}
	}
	return all
}

func ruleNamed(t *testing.T, name string) *rules.AlertingRule {
	t.Helper()
	for _, rule := range alertingRules(t) {
		if rule.Name() == name {
			return rule
		}
	}
	t.Fatalf("there is no alert %s", name)
	return nil
}

// firing says which alerts of a rule fire after so many minutes of these series, one sample and one evaluation a minute, and in
// which minute it fired first (-1: never).
func firing(t *testing.T, rule *rules.AlertingRule, series string, minutes int) (alerts []*rules.Alert, first int) {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n"+series)
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	query := rules.EngineQueryFunc(engine, storage)
	first = -1
	for minute := range minutes + 1 {
		if _, err := rule.Eval(context.Background(), 0, time.Unix(int64(minute)*60, 0), query, nil, 0); err != nil {
			t.Fatalf("%s: %v", rule.Name(), err)
		}
		alerts = nil
		for _, alert := range rule.ActiveAlerts() {
			if alert.State == rules.StateFiring {
				alerts = append(alerts, alert)
			}
		}
		if len(alerts) > 0 && first < 0 {
			first = minute
		}
	}
	return alerts, first
}

func TestEveryAlertNamesMetricsThatExist(t *testing.T) {
	all := catalogue(t)
	for _, rule := range alertingRules(t) {
		for _, said := range mistakes(all, rule.Query().String()) {
			t.Errorf("%s: %s", rule.Name(), said)
		}
	}
}

func TestEveryAlertSaysHowSeriousItIsAndWhatToDo(t *testing.T) {
	runbook := read(t, "runbook.md")
	severities := []string{"critical", "warning", "info"}
	named := map[string]bool{}
	for _, rule := range alertingRules(t) {
		if named[rule.Name()] {
			t.Errorf("%s is there twice", rule.Name())
		}
		named[rule.Name()] = true
		if severity := rule.Labels().Get("severity"); !strings.Contains(strings.Join(severities, " "), severity) || severity == "" {
			t.Errorf("%s: severity %q", rule.Name(), severity)
		}
		if url, want := rule.Annotations().Get("runbook_url"), "manifests/runbook.md#"+strings.ToLower(rule.Name()); url != want {
			t.Errorf("%s: runbook_url %q, expected %q", rule.Name(), url, want)
		}
		_, section, found := strings.Cut(runbook, "\n## "+rule.Name()+"\n")
		if !found {
			t.Errorf("%s: no section in manifests/runbook.md", rule.Name())
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, part := range []string{"Symptom", "Meaning", "Look at", "Do"} {
			_, text, _ := strings.Cut(section, "\n**"+part+".** ")
			if text, _, _ = strings.Cut(text, "\n"); len(text) < 20 {
				t.Errorf("%s: manifests/runbook.md does not say: %s", rule.Name(), part)
			}
		}
	}
	for line := range strings.Lines(runbook) {
		if title, is := strings.CutPrefix(strings.TrimSpace(line), "## "); is && !named[title] {
			t.Errorf("manifests/runbook.md has %q, which is no alert", title)
		}
	}
}
