import Testing

@testable import Sandbox

@Suite struct FaultSyntaxTests {
    @Test(arguments: [
        ("upload:reset", Fault(place: .upload, effect: .reset(.bodyBytes(0)))),
        ("upload:collision=sequence,times=2", Fault(place: .upload, effect: .collision(.sequence), times: 2)),
        ("upload:file-limit=2000", Fault(place: .upload, effect: .fileLimit(bytes: 2000))),
        ("php:status=503", Fault(place: .php, effect: .status(503))),
        ("upload:reset,after=65536", Fault(place: .upload, effect: .reset(.bodyBytes(65536)))),
        ("upload:reset,after=response-headers", Fault(place: .upload, effect: .reset(.responseHeaders))),
        ("media:reset,after=response+10", Fault(place: .media, effect: .reset(.responseBytes(10)))),
        ("media:slow-answer=10", Fault(place: .media, effect: .slowAnswer(bytesPerSecond: 10))),
        ("upload:stall,after=body,for=1.5", Fault(place: .upload, effect: .stall(.wholeBody, seconds: 1.5))),
        (
            "delete:status=429,retry-after=2,times=3",
            Fault(place: .delete, effect: .status(429), times: 3, retryAfter: 2)
        ),
        ("listing:truncate=10", Fault(place: .listing, effect: .truncate(bytes: 10))),
        (
            "tus-patch:status=503,every=100,skip=50",
            Fault(place: .tusPatch, effect: .status(503), every: 100, skip: 50)
        ),
        ("finalize:status-after=504", Fault(place: .finalize, effect: .statusAfter(504))),
        ("tus-create:limit=1000", Fault(place: .tusCreate, effect: .limit(bytes: 1000))),
        ("tus-head:expire", Fault(place: .tusHead, effect: .expire)),
        ("finalize:forget,times=1", Fault(place: .finalize, effect: .forget, times: 1)),
        ("photos-list:total=7,skip=1", Fault(place: .photosList, effect: .list(.total(7)), skip: 1)),
        ("photos-upload:body-timeout=0.5", Fault(place: .photosUpload, effect: .bodyTimeout(seconds: 0.5))),
        ("photos-download:redirect=http://x/y?a=b", Fault(place: .photosDownload, effect: .redirect("http://x/y?a=b"))),
        ("login:status=500", Fault(place: .login, effect: .status(500))),
        ("upload:no-token", Fault(place: .upload, effect: .alter(.noToken))),
    ])
    func reads(text: String, fault: Fault) throws {
        #expect(try FaultSyntax.parse(text) == fault)
    }

    @Test(arguments: [
        "", "upload", "upload:", "nowhere:reset", "upload:explode", "upload:status", "upload:status=abc",
        "upload:status=99", "upload:slow=0", "upload:reset,after=-1", "upload:reset,times=0", "upload:reset,later",
        "upload:reset,after=response+0", "upload:slow-answer=0",
        "upload:forget", "finalize:expire", "tus-create:expire", "upload:reset,every=0", "upload:limit",
        "photos-status:repeated-cursor", "photos-list:corrupt-byte", "photos-list:total", "photos-list:redirect",
        "devices:body-timeout=1", "upload:collision=title", "listing:collision=event", "finalize:post-limit=1",
    ])
    func refuses(text: String) {
        #expect(throws: FaultSyntaxError.self) { try FaultSyntax.parse(text) }
    }
}
