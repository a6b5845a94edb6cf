"""Logs of programs whose formats `weir` does not know: a few lines of each, as its documentation has them.

A kind is a name, its lines, and what a person sees in them: who asked when. A line with nobody is not a request. Where
there is no such list, a person could not say either, and the program has to refuse the file.
"""
from typing import NamedTuple, Optional


class Kind(NamedTuple):
    name: str
    lines: list
    requests: Optional[list]  # (seconds since 1970 within the day below, client) of each
    header: str = ""


# 2026-11-21, a Saturday; the clock of each request, and who asked. Two ask twice.
DAY = 1_795_219_200
ASKED = [(5, 49, 47, "203.0.113.7"), (5, 49, 48, "198.51.100.23"), (5, 49, 49, "203.0.113.7"), (14, 3, 9, "2001:db8::5"),
         (23, 59, 59, "198.51.100.23")]
FOUR = [each for each in ASKED if ":" not in each[3]]  # of programs that speak IPv4 alone


def seconds(hour, minute, second):
    return DAY + hour * 3600 + minute * 60 + second


def bracketed(who):
    return f"[{who}]" if ":" in who else who


def kind(name, write, asked=None, between="", header=""):
    """`write(h, m, s, who, n)` is a line. `between`: one that is not a request, after each."""
    asked = ASKED if asked is None else asked
    lines = [header] if header else []
    for n, (h, m, s, who) in enumerate(asked):
        lines.append(write(h, m, s, who, n))
        lines += [between.format(h=h, m=m, s=s)] if between else []
    return Kind(name, lines, [(seconds(h, m, s), who) for h, m, s, who in asked], header)


KINDS = [
    # Routers of platforms, and load balancers.
    kind("heroku router", lambda h, m, s, who, n:
         f'2026-11-21T{h:02}:{m:02}:{s:02}.593000+00:00 heroku[router]: at=info method=GET path="/orders?page={n}" '
         f'host=shop.example.org request_id=8c{n}2-{n} fwd="{who}" dyno=web.{n + 1} connect=0ms service={n}8ms '
         f'status=200 bytes=51{n} protocol=https'),
    kind("heroku router after a proxy", lambda h, m, s, who, n:
         f'2026-11-21T{h:02}:{m:02}:{s:02}.593000+00:00 heroku[router]: at=info method=GET path="/" host=shop.example.org '
         f'request_id=8c{n}2 fwd="192.0.2.{n},{who},10.1.2.{n}" dyno=web.1 connect=0ms service=18ms status=200 bytes=1'),
    kind("aws network load balancer", lambda h, m, s, who, n:
         f"tls 2.0 2026-11-21T{h:02}:{m:02}:{s:02} net/shop/c6e77e28c25b2234 g3d4b5e8bb8464cd {who}:5134{n} "
         f"172.31.0.185:443 5 2 98 246 - arn:aws:acm:eu-west-1:67123{n}:certificate/2a108f19 - ECDHE-RSA-AES128 tlsv12 - "
         f"shop.example.org - - -", FOUR),
    kind("aws s3", lambda h, m, s, who, n:
         f'79a59df9 shop [21/Nov/2026:{h:02}:{m:02}:{s:02} +0000] {who} 79a59df9 3E57427F REST.GET.OBJECT {n}.png '
         f'"GET /shop/{n}.png HTTP/1.1" 200 - 11{n} 4000 7 6 "-" "S3Console/0.4" - s9lzHY= SigV4 AES128 AuthHeader '
         f'shop.s3.eu-west-1.amazonaws.com TLSv1.2 - -'),
    kind("aws waf", lambda h, m, s, who, n:
         f'{{"timestamp":{seconds(h, m, s)}593,"formatVersion":1,"webaclId":"arn:aws:wafv2:1","action":"ALLOW",'
         f'"httpRequest":{{"clientIp":"{who}","country":"DE","uri":"/orders","httpMethod":"GET","requestId":"r{n}"}}}}'),
    kind("azure application gateway", lambda h, m, s, who, n:
         f'{{"timeStamp":"2026-11-21T{h:02}:{m:02}:{s:02}+00:00","resourceId":"/SUBSCRIPTIONS/1","category":'
         f'"ApplicationGatewayAccessLog","properties":{{"instanceId":"appgw_1","clientIP":"{who}","clientPort":5134{n},'
         f'"httpMethod":"GET","requestUri":"/orders","httpStatus":200,"serverRouted":"10.0.0.4:443","timeTaken":0.25}}}}'),
    kind("azure storage", lambda h, m, s, who, n:
         f'1.0;2026-11-21T{h:02}:{m:02}:{s:02}.1234567Z;GetBlob;Success;200;3;{n};authenticated;shop;shop;blob;'
         f'"https://shop.blob.core.windows.net/a/{n}";"/shop/a/{n}";f{n}a;0;{bracketed(who)}:4031{n};2019-12-12;461;0;352;51;0'),
    kind("vercel drain", lambda h, m, s, who, n:
         f'{{"id":"1{n}","message":"","timestamp":{seconds(h, m, s)}593,"source":"lambda","host":"shop.vercel.app",'
         f'"proxy":{{"timestamp":{seconds(h, m, s)}590,"region":"fra1","method":"GET","statusCode":200,"path":"/orders/{n}",'
         f'"userAgent":["curl"],"host":"shop.example.org","scheme":"https","clientIp":"{who}"}}}}'),
    kind("linkerd proxy", lambda h, m, s, who, n:
         f'{{"client.addr":"{bracketed(who)}:4031{n}","client.id":"-","host":"web:80","method":"GET","processing_ns":"8{n}",'
         f'"status":200,"timestamp":"2026-11-21T{h:02}:{m:02}:{s:02}.123456789Z","total_ns":"9","uri":"http://web/{n}"}}'),
    # Servers of the web, and what they say of errors.
    kind("nginx error log", lambda h, m, s, who, n:
         f'2026/11/21 {h:02}:{m:02}:{s:02} [error] 812#812: *1{n} limiting requests, excess: 5.{n}00 by zone "one", client: '
         f'{who}, server: example.org, request: "GET /{n} HTTP/1.1", upstream: "http://10.0.0.5:80/", host: "example.org"'),
    kind("apache error log", lambda h, m, s, who, n:
         f"[Sat Nov 21 {h:02}:{m:02}:{s:02}.123456 2026] [proxy:error] [pid 812:tid 14{n}] [client {who}:4031{n}] AH01114: "
         f"HTTP: failed to make connection to backend: 127.0.0.1", FOUR),
    # Databases, queues and brokers.
    kind("postgresql", lambda h, m, s, who, n:
         f"2026-11-21 {h:02}:{m:02}:{s:02}.593 UTC [81{n}] LOG:  connection received: host={who} port=4031{n}",
         between="2026-11-21 {h:02}:{m:02}:{s:02}.600 UTC [812] LOG:  connection authorized: user=app database=shop"),
    kind("postgresql csvlog", lambda h, m, s, who, n:
         f'2026-11-21 {h:02}:{m:02}:{s:02}.593 UTC,"app","shop",81{n},"{who}:4031{n}",6560f0.1,1,"authentication",'
         f'2026-11-20 05:49:47 UTC,3/1,0,LOG,00000,"connection authorized",,,,,,,,,"","client backend",,0', FOUR),
    kind("mysql general log", lambda h, m, s, who, n:
         f"2026-11-21T{h:02}:{m:02}:{s:02}.593123Z\t   1{n} Connect\tapp@{who} on shop using TCP/IP",
         between="2026-11-21T{h:02}:{m:02}:{s:02}.600000Z\t   10 Query\tSELECT 1"),
    kind("mongodb", lambda h, m, s, who, n:
         f'{{"t":{{"$date":"2026-11-21T{h:02}:{m:02}:{s:02}.593+00:00"}},"s":"I","c":"NETWORK","id":22943,"ctx":"listener",'
         f'"msg":"Connection accepted","attr":{{"remote":"{bracketed(who)}:4031{n}","connectionId":{n},"connectionCount":1}}}}'),
    kind("redis", lambda h, m, s, who, n: f"812:M 21 Nov 2026 {h:02}:{m:02}:{s:02}.593 - Accepted {who}:4031{n}", FOUR),
    kind("rabbitmq", lambda h, m, s, who, n:
         f"2026-11-21 {h:02}:{m:02}:{s:02}.593123+00:00 [info] <0.81{n}.0> accepting AMQP connection <0.81{n}.0> "
         f"({who}:4031{n} -> 10.0.0.5:5672)", FOUR),
    kind("kafka requests", lambda h, m, s, who, n:
         f"[2026-11-21 {h:02}:{m:02}:{s:02},593] DEBUG Completed request:RequestHeader(apiKey=FETCH, clientId=c{n}) from "
         f"connection 10.0.0.5:9092-{who}:4031{n}-{n};totalTime:1.5,requestQueueTime:0.1", FOUR),
    kind("couchdb", lambda h, m, s, who, n:
         f"[notice] 2026-11-21T{h:02}:{m:02}:{s:02}.593123Z couchdb@127.0.0.1 <0.81{n}.0> 0a1b{n} localhost:5984 {who} "
         f"undefined GET /shop/{n} 200 ok 1"),
    kind("clickhouse", lambda h, m, s, who, n:
         f"2026.11.21 {h:02}:{m:02}:{s:02}.593123 [ 812 ] {{a{n}}} <Debug> executeQuery: (from {bracketed(who)}:4031{n}) SELECT {n}"),
    kind("oracle listener", lambda h, m, s, who, n:
         f"21-NOV-2026 {h:02}:{m:02}:{s:02} * (CONNECT_DATA=(SID=shop)(CID=(PROGRAM=x)(HOST=app{n})(USER=u))) * "
         f"(ADDRESS=(PROTOCOL=tcp)(HOST={who})(PORT=4031{n})) * establish * shop * 0"),
    kind("mosquitto", lambda h, m, s, who, n: f"{seconds(h, m, s)}: New connection from {who}:4031{n} on port 1883.", FOUR),
    # Names, mail, telephones, walls.
    kind("bind queries", lambda h, m, s, who, n:
         f"21-Nov-2026 {h:02}:{m:02}:{s:02}.593 queries: info: client @0x7f1c{n} {who}#4031{n} (example.org): query: "
         f"example.org IN A +E(0)K (10.0.0.5)"),
    kind("postfix", lambda h, m, s, who, n:
         f"2026-11-21T{h:02}:{m:02}:{s:02}.593123+00:00 mx postfix/smtpd[81{n}]: connect from unknown[{who}]"),
    kind("asterisk", lambda h, m, s, who, n:
         f"[2026-11-21 {h:02}:{m:02}:{s:02}] NOTICE[812]: chan_sip.c:28{n} handle_request_register: Registration from "
         f"'\"100\" <sip:100@10.0.0.5>' failed for '{who}:4031{n}' - Wrong password", FOUR),
    kind("fortinet", lambda h, m, s, who, n:
         f'date=2026-11-21 time={h:02}:{m:02}:{s:02} devname="fw1" type="traffic" srcip={who} srcport=4031{n} '
         f'dstip=10.0.0.5 dstport=443 action="accept"'),
    kind("cisco asa", lambda h, m, s, who, n:
         f"Nov 21 2026 {h:02}:{m:02}:{s:02} fw1 : %ASA-6-302013: Built inbound TCP connection 8{n} for outside:"
         f"{who}/4031{n} ({who}/4031{n}) to inside:10.0.0.5/443 (10.0.0.5/443)", FOUR),
    kind("kubernetes audit", lambda h, m, s, who, n:
         f'{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a{n}","stage":"ResponseComplete",'
         f'"requestURI":"/api/v1/pods","verb":"list","user":{{"username":"system:node"}},"sourceIPs":["{who}"],'
         f'"responseStatus":{{"code":200}},"requestReceivedTimestamp":"2026-11-21T{h:02}:{m:02}:{s:02}.593123Z",'
         f'"stageTimestamp":"2026-11-21T{h:02}:{m:02}:{s:02}.600123Z"}}'),
    # What browsers and phones send to.
    kind("mozlog of a sync server", lambda h, m, s, who, n:
         f'{{"Timestamp":{seconds(h, m, s)}593000000,"Type":"mozsvc.metrics","Logger":"sync","Hostname":"web1","Pid":81{n},'
         f'"Severity":6,"Fields":{{"remoteAddressChain":"[\\"{who}\\",\\"10.0.0.1\\"]","path":"/1.5/{n}","method":"get","t":5}}}}'),
    kind("parse server", lambda h, m, s, who, n:
         f'{{"level":"info","message":"REQUEST for [POST] /parse/classes/Score","timestamp":"2026-11-21T{h:02}:{m:02}:{s:02}.593Z",'
         f'"method":"POST","url":"/parse/classes/Score","headers":{{"x-forwarded-for":"{who}","host":"app"}},"duration":1{n}}}'),
    kind("an export of a spreadsheet", lambda h, m, s, who, n:
         f"{who},{seconds(h, m, s) / 86400 + 25569:.10f},{n}.25", header="Address,Start time,Duration"),
    kind("windows, in ticks of 100 ns", lambda h, m, s, who, n:
         f'{{"EventTime":{(seconds(h, m, s) + 11_644_473_600) * 10**7},"RemoteAddress":"{who}","ElapsedMs":1{n}}}'),
    kind("a table with a date and a clock", lambda h, m, s, who, n:
         f"21.11.2026,{h:02}:{m:02}:{s:02},{who},/orders/{n}", header="Datum,Uhrzeit,Adresse,Pfad"),
    kind("a table with semicolons", lambda h, m, s, who, n: f"21.11.2026;{h:02}:{m:02}:{s:02};{who};/orders/{n}",
         header="Datum;Uhrzeit;Adresse;Pfad"),
    kind("aws cloudtrail", lambda h, m, s, who, n:
         f'{{"eventVersion":"1.08","userIdentity":{{"type":"AssumedRole","sessionContext":{{"attributes":{{"creationDate":'
         f'"2026-11-20T0{n}:00:00Z"}}}}}},"eventTime":"2026-11-21T{h:02}:{m:02}:{s:02}Z","eventName":"GetObject",'
         f'"sourceIPAddress":"{who}","eventID":"e{n}"}}'),
    kind("a signup before the request", lambda h, m, s, who, n:
         f'{{"created":"2020-01-0{n + 1}T00:00:00Z","occurred":"2026-11-21T{h:02}:{m:02}:{s:02}Z","addr":"{who}"}}'),
    # What comes before the client, or in its place.
    kind("vsftpd on both protocols", lambda h, m, s, who, n:
         f'Sat Nov 21 {h:02}:{m:02}:{s:02} 2026 [pid {n + 3}] CONNECT: Client "::ffff:{who}"', FOUR),
    kind("a clock and a MAC address", lambda h, m, s, who, n:
         f"2026-11-21T{h:02}:{m:02}:{s:02}Z 0{n}:00:38 00:1a:2b:3c:4d:5{n} {who} joined"),
    kind("syslog, without a year", lambda h, m, s, who, n:
         f"Nov 21 {h:02}:{m:02}:{s:02} host app[81{n}]: query from {who} took {n} ms"),
    kind("a comma and quotes", lambda h, m, s, who, n: f'2026-11-21T{h:02}:{m:02}:{s:02}Z {who} x,"a b" y{n}'),
    kind("a word and a colon", lambda h, m, s, who, n: f"2026-11-21T{h:02}:{m:02}:{s:02}Z took {n}ms client:{bracketed(who)} ok"),
    kind("browsers beside the client", lambda h, m, s, who, n:
         f'{{"at":"2026-11-21T{h:02}:{m:02}:{s:02}Z","app_version":"4.2.{n}.1","agent":"Chrome/13{n}.0.0.0","who":"{who}"}}'),
    kind("rails", lambda h, m, s, who, n:
         f'Started GET "/orders/{n}" for {who} at 2026-11-21 {h:02}:{m:02}:{s:02} +0000',
         between="Processing by OrdersController#index as HTML\n  Rendered orders/index.html.erb (1.2ms)\nCompleted 200 OK in 5ms"),
    kind("gin", lambda h, m, s, who, n:
         f'[GIN] 2026/11/21 - {h:02}:{m:02}:{s:02} | 200 |     1.{n}2ms | {who:>15} | GET      "/orders/{n}"'),
    kind("werkzeug", lambda h, m, s, who, n: f'{who} - - [21/Nov/2026 {h:02}:{m:02}:{s:02}] "GET /{n} HTTP/1.1" 200 -'),
    kind("exim", lambda h, m, s, who, n:
         f"2026-11-21 {h:02}:{m:02}:{s:02} 1abcde-000{n}ab-CD <= ann@example.org H=mail{n}.example.org [{who}] P=esmtps S=10{n}",
         between="2026-11-21 {h:02}:{m:02}:{s:02} 1abcde-0001ab-CD Completed"),
    kind("sophos", lambda h, m, s, who, n:
         f'2026:11:21-{h:02}:{m:02}:{s:02} fw httpproxy[81{n}]: id="0001" name="http access" srcip="{who}" dstip="192.0.2.80"'),
    kind("a list of CSV with a version", lambda h, m, s, who, n: f"2026-11-21T{h:02}:{m:02}:{s:02}Z,13{n}.0.0.0,{who}",
         header="when,browser,who"),
    # Nobody can say: the month, the year, the zone, or who asked.
    Kind("a day that may be a month", [f"03/04/2026 05:49:4{n} login from 203.0.113.{n}" for n in range(5)], None),
    Kind("a zone in letters", [f"2026-11-21 05:49:4{n} CET [812] LOG:  connection received: host=203.0.113.{n}" for n in range(5)],
         None),
    Kind("durations alone", ["time,ip", *(f"{n}.25,203.0.113.{n}" for n in range(5))], None),
    Kind("without a client", [f'[21/Nov/2026 05:49:4{n}] "GET / HTTP/1.1" 200 12' for n in range(5)], None),
    Kind("browsers alone", [f'2026-11-21T05:49:4{n}Z GET / "Chrome/13{n}.0.0.0"' for n in range(9)], None),
    Kind("builds of browsers", [f'2026-11-21T05:49:4{n}Z GET / Chrome/131.0.{n}.7 ok' for n in range(9)], None),
    Kind("a column of versions", ["time,app_version,path", *(f"2026-03-17T08:00:{n:02}Z,4.1.{n}.7,/a" for n in range(30))], None),
    Kind("versions alone", [f'{{"time":179524018{n},"app_version":"4.2.{n}.1"}}' for n in range(9)], None),
    Kind("several requests a line", ['{"records":[' + ",".join(
        f'{{"at":"2026-11-21T05:49:4{n}Z","ip":"203.0.113.{n}"}}' for n in range(9)) + "]}"], None),
    Kind("a proxy alone", [f"2026-11-21 05:49:4{n} upstream 10.0.0.5:80 answered 200" for n in range(9)], None),
]
