// Renders a chart by Helm's engine, and reads what comes out as strictly as a server of Kubernetes would: a field that a
// kind does not have, or a value of another type, is an error.
//
//	helm CHART RELEASE NAMESPACE [VALUES.yaml]
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

var kinds = map[string]func() any{
	"v1 ConfigMap":                       func() any { return &corev1.ConfigMap{} },
	"v1 Service":                         func() any { return &corev1.Service{} },
	"apps/v1 Deployment":                 func() any { return &appsv1.Deployment{} },
	"networking.k8s.io/v1 NetworkPolicy": func() any { return &networkingv1.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":      func() any { return &policyv1.PodDisruptionBudget{} },
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	chart, err := loader.Load(args[0])
	if err != nil {
		return err
	}
	if err := chart.Validate(); err != nil {
		return err
	}
	values := chartutil.Values{}
	if len(args) > 3 {
		if values, err = chartutil.ReadValuesFile(args[3]); err != nil {
			return err
		}
	}
	release := chartutil.ReleaseOptions{Name: args[1], Namespace: args[2], IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		text := strings.TrimSpace(files[name])
		if text == "" || strings.HasSuffix(name, ".txt") {
			continue
		}
		if err := judge(text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("---\n%s\n", text)
	}
	return nil
}

func judge(text string) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		return err
	}
	make, known := kinds[head.APIVersion+" "+head.Kind]
	if !known {
		return fmt.Errorf("%s %s: not a kind that the chart has", head.APIVersion, head.Kind)
	}
	return yaml.UnmarshalStrict([]byte(text), make())
}
