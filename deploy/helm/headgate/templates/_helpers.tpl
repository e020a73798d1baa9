{{- define "headgate.name" -}}
{{- if contains "headgate" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-headgate" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "headgate.selector" -}}
app.kubernetes.io/name: headgate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "headgate.labels" -}}
{{ include "headgate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "headgate.image" -}}
{{- $repository := required "image.repository is missing: set it to the image that you built from Dockerfile" .Values.image.repository -}}
{{- if .Values.image.digest }}{{ $repository }}@{{ .Values.image.digest }}{{ else }}{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "headgate.secret.databases" -}}
{{- required "secrets.databases is missing: set it to the name of a Secret with owner-url, api-url, proxy-url and worker-url" .Values.secrets.databases -}}
{{- end }}
{{- define "headgate.secret.redis" -}}
{{- required "secrets.redis is missing: set it to the name of a Secret with redis-url" .Values.secrets.redis -}}
{{- end }}
{{- define "headgate.secret.keys" -}}
{{- required "secrets.keys is missing: set it to the name of a Secret with the files of headgate secrets create" .Values.secrets.keys -}}
{{- end }}

{{- define "headgate.proxyUrl" -}}
{{- .Values.publicProxyUrl | default (printf "http://%s-proxy.%s.svc:8471" (include "headgate.name" .) .Release.Namespace) -}}
{{- end }}

{{- define "headgate.podSecurity" -}}
automountServiceAccountToken: false
# A Service named headgate-api would otherwise set HEADGATE_API_PORT to tcp://…
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "headgate.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* The pod of a part. Takes root, part, values, and keys: the files of secrets.keys that it reads. */}}
{{- define "headgate.pod" -}}
{{- $ := .root -}}
metadata:
  labels: {{- include "headgate.labels" . | nindent 4 }}
  {{- with .values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "headgate.podSecurity" $ | nindent 2 }}
  terminationGracePeriodSeconds: {{ add $.Values.drainSeconds 20 }}
  {{- if ne .kind "DaemonSet" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: {matchLabels: {{ include "headgate.selector" . | fromYaml | toJson }}}
  {{- end }}
  {{- with .values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .part }}
      image: {{ include "headgate.image" $ }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      args: [{{ .part }}]
      {{- include "headgate.containerSecurity" . | nindent 6 }}
      env:
        {{- range $name, $value := merge (dict) .values.settings $.Values.settings $.Values.kms.environment (include "headgate.settings" . | fromYaml) }}
        - {name: {{ $name }}, value: {{ $value | quote }}}
        {{- end }}
      ports:
        {{- with .port }}
        - {name: traffic, containerPort: {{ . }}}
        {{- end }}
        - {name: monitor, containerPort: 9470}
      startupProbe: {httpGet: {path: /readyz, port: monitor}, periodSeconds: 3, failureThreshold: 60}
      readinessProbe: {httpGet: {path: /readyz, port: monitor}, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 2}
      livenessProbe: {httpGet: {path: /healthz, port: monitor}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6}
      resources: {{- toYaml .values.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /var/lib/headgate}
        - {name: tmp, mountPath: /tmp}
        - {name: secrets, mountPath: /run/secrets/headgate, readOnly: true}
        {{- if and (eq .part "api") $.Values.localIssuer }}
        - {name: issuer, mountPath: /var/lib/headgate/issuer, readOnly: true}
        {{- end }}
  volumes:
    - name: data
      {{- if .values.existingClaim }}
      persistentVolumeClaim: {claimName: {{ .values.existingClaim }}}
      {{- else }}
      emptyDir: {sizeLimit: {{ .values.dataSizeLimit }}}
      {{- end }}
    - {name: tmp, emptyDir: {sizeLimit: 64Mi}}
    - name: secrets
      projected:
        defaultMode: 0440
        sources:
          - secret: {name: {{ include "headgate.secret.databases" $ }}, items: [{key: {{ .part }}-url, path: database-url}]}
          - secret: {name: {{ include "headgate.secret.redis" $ }}, items: [{key: redis-url, path: redis-url}]}
          - secret:
              name: {{ include "headgate.secret.keys" $ }}
              items:
                {{- range .keys }}
                - {key: {{ . }}, path: {{ . }}}
                {{- end }}
          {{- with $.Values.secrets.vaultToken }}
          - secret: {name: {{ . }}, items: [{key: vault-token, path: vault-token}]}
          {{- end }}
    {{- if and (eq .part "api") $.Values.localIssuer }}
    - name: issuer
      secret:
        secretName: {{ include "headgate.secret.keys" $ }}
        defaultMode: 0440
        items: [{key: local-issuer.pem, path: local-issuer.pem}]
    {{- end }}
{{- end }}

{{- define "headgate.settings" -}}
{{- $ := .root -}}
{{- $at := "/run/secrets/headgate" -}}
HEADGATE_{{ upper .part }}_DATABASE_URL_FILE: {{ $at }}/database-url
HEADGATE_REDIS_URL_FILE: {{ $at }}/redis-url
HEADGATE_MASTER_KEYS_FILE: {{ $at }}/master-keys.json
{{- if $.Values.secrets.vaultToken }}
HEADGATE_VAULT_TOKEN_FILE: {{ $at }}/vault-token
{{- end }}
HEADGATE_PUBLIC_API_URL: {{ required "publicApiUrl is missing: set it to the address at which people and agents reach the API, as in https://gate.example.com" $.Values.publicApiUrl }}
HEADGATE_PUBLIC_PROXY_URL: {{ include "headgate.proxyUrl" $ }}
HEADGATE_MONITOR_ADDRESS: {{ printf "%s:9470" $.Values.listen | quote }}
HEADGATE_DRAIN_SECONDS: {{ $.Values.drainSeconds | quote }}
HEADGATE_LOG_FORMAT: json
{{- if eq .part "api" }}
HEADGATE_API_HOST: {{ trimAll "[]" $.Values.listen | quote }}
HEADGATE_CA_FILE: {{ $at }}/ca-certificates.pem
HEADGATE_JWT_LOCAL_ISSUER: {{ ternary "on" "off" $.Values.localIssuer | quote }}
{{- end }}
{{- if eq .part "proxy" }}
HEADGATE_PROXY_HOST: {{ trimAll "[]" $.Values.listen | quote }}
HEADGATE_CA_FILE: {{ $at }}/ca.pem
HEADGATE_PROXY_WORKERS: {{ .values.workers | quote }}
{{- else }}
HEADGATE_SIGNING_KEYS_FILE: {{ $at }}/signing-keys
{{- end }}
{{- end }}
