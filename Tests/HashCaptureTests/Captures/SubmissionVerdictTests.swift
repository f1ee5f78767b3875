import CaptureSubmission
import Foundation
import TestSupport
import Testing

@testable import HashCapture

@Suite struct SubmissionVerdictTests {
    /// Hash-only contract 1.3, "Retry classes" and "Duplicates".
    @Test(arguments: [
        (CaptureError(.signingFailed), SubmissionVerdict.unsigned),
        (CaptureError(.keyUnusable), .unsigned),
        (CaptureError(.transport, isRetryable: true), .again),
        (CaptureError(.cancelled), .again),
        (CaptureError(.clockWrong, httpStatus: 401), .again),
        (CaptureError(.rateLimited, httpStatus: 429), .again),
        (CaptureError(.serverError, httpStatus: 503), .again),
        (CaptureError(.assertionRefused, httpStatus: 401), .again),
        (CaptureError(.requestSignatureRefused, httpStatus: 401), .again),
        (CaptureError(.counterOutdated, httpStatus: 401), .again),
        (CaptureError(.deviceUnknown, httpStatus: 404), .again),
        (CaptureError(.deviceUnverified, httpStatus: 403), .again),
        (CaptureError(.redirected, httpStatus: 307), .again),
        (CaptureError(.sourceChanged), .again),
        (CaptureError(.fileUnreadable), .again),
        (CaptureError(.unexpectedResponse, httpStatus: 404), .again),
        (CaptureError(.conflict, httpStatus: 409), .again),
        (CaptureError(.badRequest, httpStatus: 400, isRetryable: true), .again),
        (CaptureError(.payloadTooLarge, httpStatus: 413, isRetryable: true), .again),
        (CaptureError(.unsupportedMedia, httpStatus: 415, isRetryable: true), .again),
        (CaptureError(.badRequest, httpStatus: 400), .rejected),
        (CaptureError(.payloadTooLarge, httpStatus: 413), .rejected),
        (CaptureError(.badRequest, httpStatus: 422), .rejected),
        (CaptureError(.duplicate, httpStatus: 409), .rejected),
        (CaptureError(.unexpectedResponse, httpStatus: 418), .rejected),
        (CaptureError(.unknownOutcome), .unknown),
        (CaptureError(.unknownOutcome, httpStatus: 202), .unknown),
        (CaptureError(.unknownOutcome, httpStatus: 502), .unknown),
        (CaptureError(.unknownOutcome, httpStatus: 500), .failedInside),
        (CaptureError(.unexpectedResponse, httpStatus: 200), .unknown),
        (CaptureError(.transport, isRetryable: false), .unknown),
    ])
    func everyErrorHasItsState(_ error: CaptureError, _ verdict: SubmissionVerdict) {
        #expect(SubmissionVerdict(error) == verdict, "\(error)")
    }
}

/// Checks that the code that sends a hash-only capture cannot access its media.
@Suite struct SubmissionImportTests {
    /// No store, no files, no vault: a module that is not imported cannot be called. The same holds for MediaCore,
    /// which all modules share.
    @Test(arguments: [("CaptureSubmission", 11), ("MediaCore", 5)])
    func theSendingModuleImportsNeitherFilesNorStore(_ module: String, _ leastCount: Int) throws {
        let allowed = [
            "Foundation", "Glibc", "MediaCore", "MediaCrypto", "MediaTransport", "Outcomes", "Synchronization",
        ]
        let folder = "Sources/\(module)"
        let files = try FileManager.default.subpathsOfDirectory(atPath: Repository.path(folder))
            .filter { $0.hasSuffix(".swift") }
        #expect(files.count >= leastCount)
        for file in files {
            let text = try Repository.text("\(folder)/\(file)")
            for line in text.split(separator: "\n") {
                guard let match = line.firstMatch(of: /^(?:@\w+ )?(?:\w+ )?import (?:\w+ )?(\w+)/) else { continue }
                #expect(allowed.contains(String(match.1)), "\(file): \(line)")
            }
            for reading in [
                "FileContent", "FileHandle", "FileManager", "contentsOf", "fopen(", "open(", "MultipartForm",
            ] {
                #expect(!text.contains(reading), "\(file): \(reading)")
            }
        }
    }

    /// The sender has these members, and no others.
    @Test func theSenderHasNoAccessToTheMedia() throws {
        let types = try Repository.text("Sources/HashCapture/Captures/CaptureSender.swift")
        let members = types.matches(of: /(?m)^    let (\w+): ([\w.]+)$/).map { "\($0.1): \($0.2)" }
        #expect(
            members == [
                "body: HashOnlyBody", "requestCounter: UInt32", "payloadCounter: UInt32", "requestID: String",
                "client: CaptureClient", "device: CaptureDevice", "counter: CounterFile",
            ]
        )
        #expect(!types.contains("import MediaFiles"))
    }
}

@Suite struct CaptureMediaTypeTests {
    @Test(
        arguments: [
            ([0xFF, 0xD8, 0xFF, 0xE1], CaptureMediaType.photo),
            ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .photo),
            ([0x49, 0x49, 0x2A, 0x00], .photo),
            (Array("RIFF\u{4}\u{0}\u{0}\u{0}WEBPVP8 ".utf8), .photo),
            ([0, 0, 0, 24] + Array("ftypheic".utf8), .photo),
            ([0, 0, 0, 24] + Array("ftypisom".utf8), .video),
            ([0, 0, 0, 24] + Array("ftypqt  ".utf8), .video),
            ([0x1A, 0x45, 0xDF, 0xA3, 0x42, 0x82, 0x84] + Array("webm".utf8), .video),
            (Array("fLaC".utf8), nil),
            (Array("#!/bin/sh".utf8), nil),
        ] as [([UInt8], CaptureMediaType?)]
    )
    func firstBytesDistinguishPhotosFromVideos(_ prefix: [UInt8], _ type: CaptureMediaType?) {
        #expect(CaptureMediaType.sniffed(prefix) == type)
    }
}
