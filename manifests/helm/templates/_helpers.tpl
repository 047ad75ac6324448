{{/*
The objects come from files/, which kustomize installs as well: nothing is written twice. Where no value changes an object, its
text is taken as it is; else it is read, changed and written.
*/}}

{{/* The object of a file with one document. */}}
{{- define "fgpu.object" -}}
{{- $object := .root.Files.Get (print "files/" .file) | fromYaml -}}
{{- if or (not $object) (hasKey $object "Error") }}{{ fail (printf "files/%s cannot be read: %v" .file $object) }}{{ end -}}
{{- toJson $object -}}
{{- end -}}

{{/* repository:tag, or repository@sha256:... where the tag is a digest. */}}
{{- define "fgpu.image" -}}
{{- $tag := .image.tag | default .root.Chart.AppVersion -}}
{{- printf "%s%s%s" .image.repository (ternary "@" ":" (hasPrefix "sha256:" $tag)) $tag -}}
{{- end -}}

{{/* The first ConfigMap of a file with its data changed, then the rest of the file as it is. */}}
{{- define "fgpu.withParameters" -}}
{{- range $i, $text := regexSplit "(?m)^---$" (.root.Files.Get (print "files/" .file)) -1 }}
---
{{- if and (eq $i 0) $.parameters }}
{{- $map := fromYaml $text }}
{{- range $key, $value := $.parameters }}
{{- if not (hasKey $map.data $key) }}{{ fail (printf "%s.parameters.%s: there is no such parameter; there are: %s" $.of $key (keys $map.data | sortAlpha | join ", ")) }}{{ end }}
{{- $_ := set $map.data $key $value }}
{{- end }}
{{ toYaml $map }}
{{- else }}
{{ trim $text }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The folder of files/ that the form is of. */}}
{{- define "fgpu.folder" -}}
{{- eq .Values.form "mtls" | ternary "mtls" "dedicated" -}}
{{- end -}}

{{/* The object of a kind in a file with several documents. */}}
{{- define "fgpu.objectOfKind" -}}
{{- $found := dict -}}
{{- range regexSplit "(?m)^---$" (.root.Files.Get (print "files/" .file)) -1 -}}
{{- $object := fromYaml . -}}
{{- if eq (get $object "kind") $.kind }}{{ $found = $object }}{{ end -}}
{{- end -}}
{{- if not $found }}{{ fail (printf "files/%s has no %s" .file .kind) }}{{ end -}}
{{- toJson $found -}}
{{- end -}}

{{/* Does fgpu read a certificate from the Secret fgpu-tls? */}}
{{- define "fgpu.tls" -}}
{{- if and (ne .Values.form "mtls") .Values.metrics.enabled (ne .Values.metrics.certificate "self-signed") }}yes{{ end -}}
{{- end -}}

{{/* What values change of the configuration. */}}
{{- define "fgpu.changes" -}}
{{- $changes := deepCopy .Values.config -}}
{{- if and (not .Values.metrics.enabled) (ne .Values.form "mtls") -}}
{{- $changes = mustMergeOverwrite $changes (dict "serving" (dict "metricsAddress" "none")) -}}
{{- end -}}
{{- if .Values.planAhead.enabled -}}
{{- $changes = mustMergeOverwrite $changes (dict "planAhead" (dict "enabled" true)) -}}
{{- end -}}
{{- if eq .Values.consistency "strict" -}}
{{- $changes = mustMergeOverwrite $changes (dict "consistency" "strict") -}}
{{- end -}}
{{- if include "fgpu.tls" . -}}
{{- $tls := dict "certFile" "/etc/fgpu-tls/tls.crt" "keyFile" "/etc/fgpu-tls/tls.key" "clientCAFile" "/etc/fgpu-tls/ca.crt" -}}
{{- $changes = mustMergeOverwrite $changes (dict "serving" (dict "tls" $tls)) -}}
{{- end -}}
{{- toJson $changes -}}
{{- end -}}

{{/* kube-scheduler's configuration of the form. The default one is what files/dedicated/kustomization.yaml names. */}}
{{- define "fgpu.shippedSchedulerConfiguration" -}}
{{- if eq .Values.form "advertised" -}}
{{- .Files.Get "files/dedicated/scheduler-advertised.yaml" -}}
{{- else -}}
{{- $kustomization := include "fgpu.object" (dict "root" . "file" "dedicated/kustomization.yaml") | fromJson -}}
{{- range (index $kustomization.configMapGenerator 0).files -}}
{{- if hasPrefix "scheduler.yaml" . -}}
{{- $.Files.Get (print "files/dedicated/" (splitList "=" . | last)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* That, or the admin's. A kube-scheduler before 1.33 is to look at all nodes (the file says why). */}}
{{- define "fgpu.schedulerConfiguration" -}}
{{- $k := .Values.scheduler.kubeScheduler -}}
{{- $number := "[0-9]+[.][0-9]+[.][0-9]+" -}}
{{- $version := regexFind $number $k.tag | default (regexFind $number .Capabilities.KubeVersion.Version) -}}
{{- if $k.configuration -}}
{{- $k.configuration -}}
{{- else if semverCompare "<1.33.0" $version -}}
{{- include "fgpu.shippedSchedulerConfiguration" . | replace "\npercentageOfNodesToScore: 0\n" "\npercentageOfNodesToScore: 100\n" -}}
{{- else -}}
{{- include "fgpu.shippedSchedulerConfiguration" . -}}
{{- end -}}
{{- end -}}
