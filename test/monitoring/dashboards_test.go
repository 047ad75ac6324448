package monitoring

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type dashboard struct {
	UID        string
	Title      string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               struct{ Type, UID string }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
}

var dashboards = []string{"dashboard-cluster.json", "dashboard-nodes.json"}

func load(t *testing.T, file string) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "monitoring", file)), &d); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return d
}

var legend = regexp.MustCompile(`\{\{(\w+)\}\}`)

func TestEveryPanelNamesMetricsThatExist(t *testing.T) {
	all := catalogue(t)
	for _, file := range dashboards {
		n := 0
		for _, p := range load(t, file).Panels {
			for _, target := range p.Targets {
				n++
				for _, said := range mistakes(all, target.Expr) {
					t.Errorf("%s, %q: %s\nin %s", file, p.Title, said, target.Expr)
				}
			}
			if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "" || p.Datasource.UID != "${datasource}") {
				t.Errorf("%s, %q: a panel needs a query, a description and the data source that is chosen", file, p.Title)
			}
		}
		if n < 25 {
			t.Errorf("%s: only %d queries", file, n)
		}
	}
}

func TestVariablesOfADashboardAreDefined(t *testing.T) {
	used := regexp.MustCompile(`\$\{?(\w+)\}?`)
	for _, file := range dashboards {
		d := load(t, file)
		defined := []string{"__rate_interval"}
		for _, v := range d.Templating.List {
			defined = append(defined, v.Name)
			if inner, is := strings.CutPrefix(v.Definition, "label_values("); is {
				metric, label, _ := strings.Cut(strings.TrimSuffix(inner, ")"), ", ")
				f, known := catalogue(t)[metric]
				if _, has := f.labels[label]; !known || !has && !slices.Contains(targetLabels, label) {
					t.Errorf("%s: the variable %s asks for %s", file, v.Name, v.Definition)
				}
			}
		}
		for _, m := range used.FindAllStringSubmatch(read(t, "monitoring", file), -1) {
			if !slices.Contains(defined, m[1]) {
				t.Errorf("%s: nobody defines $%s", file, m[1])
			}
		}
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range dashboards {
		d := load(t, file)
		if d.UID == "" || seen[d.UID] {
			t.Errorf("%s: its uid %q is empty or taken", file, d.UID)
		}
		seen[d.UID] = true
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W < 1 || p.GridPos.H < 1 {
				t.Errorf("%s, %q: number %d, place %+v", file, p.Title, p.ID, p.GridPos)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other, is := taken[[2]int{x, y}]; is {
						t.Fatalf("%s: %q lies over %q", file, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}
