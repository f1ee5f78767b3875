public import CaptureSubmission
internal import Foundation
internal import Glibc
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// All inputs of a capture except its hash: read, checked and analyzed before anything is written.
struct CaptureInput: Sendable {
    /// nil if only a digest was given.
    var file: SourceFile?
    var mediaType: CaptureMediaType
    var facts: CaptureFacts
    /// Little-endian binary32; the maps of keyframes are concatenated. Empty without a depth map.
    var depthBytes: [UInt8] = []
    var depthSize: (width: Int, height: Int)?
    var analysis = DepthAnalysis.unavailable
    var video: VideoMembers?
    var analysisMilliseconds: Int64 = 0
    var notices: [CaptureNotice] = []

    /// Reads the inputs. If `isPreview` is true, nothing will be submitted, so a choice about depth is not required.
    ///
    /// - Throws: `CaptureError` for an unreadable file, or missing input that the profile or the media type requires.
    static func read(
        _ request: CaptureRequest,
        profile: CaptureProfile,
        isPreview: Bool = false
    ) async throws(CaptureError) -> CaptureInput {
        try await BlockingWork.run { () throws(CaptureError) in
            let file = try request.subject.path.map { path throws(CaptureError) in
                try CaptureError.reading(SourceFile(path: path))
            }
            let mediaType = try mediaType(of: file, request)
            try check(request, mediaType)
            if !isPreview, request.depth == .unspecified, mediaType == .photo || profile == .reference {
                throw CaptureError(.depthRequired, path: file?.path)
            }
            let facts = request.facts.completed(by: file.map { .reading($0) } ?? CaptureFacts())
            if request.requiresExactTime, facts.capturedAt == nil, facts.localTime != nil {
                throw CaptureError(.timeZoneUnknown, path: file?.path)
            }
            var input = CaptureInput(file: file, mediaType: mediaType, facts: facts)
            if file == nil { input.notices.append(.notObserved) }
            input.video = request.video
            try input.analyze(request.depth, profile: profile)
            return input
        }
    }

    private static func mediaType(
        of file: SourceFile?,
        _ request: CaptureRequest
    ) throws(CaptureError) -> CaptureMediaType {
        var shown: CaptureMediaType?
        if let file { shown = CaptureMediaType.sniffed(try CaptureError.reading(file.prefix(4096))) }
        guard let type = request.mediaType ?? shown else {
            throw CaptureError(
                .unknownMediaType,
                detail: file == nil
                    ? "a digest has no type; specify it" : "its first bytes identify neither a photo nor a video",
                path: file?.path
            )
        }
        guard shown == nil || shown == type else {
            throw CaptureError(
                .unknownMediaType,
                detail: "its first bytes show a \(shown == .photo ? "photo" : "video")",
                path: file?.path,
                value: type.rawValue
            )
        }
        return type
    }

    private static func check(
        _ request: CaptureRequest,
        _ type: CaptureMediaType
    ) throws(CaptureError) {
        switch (type, request.video) {
        case (.video, nil):
            throw CaptureError(.videoMembersMissing)
        case (.video, let video?) where video.frameCount < 1 || video.durationMilliseconds < 1:
            throw CaptureError(.videoMembersMissing, detail: "frame count and duration must be positive")
        case (.photo, _?):
            throw CaptureError(.unknownMediaType, detail: "a photo has no hash chain, frames or duration")
        default: break
        }
        switch request.depth {
        case .keyframes where type == .photo:
            throw CaptureError(.depthMapInvalid, detail: "a photo has one depth map and no keyframes")
        case .keyframes(let paths, _) where paths.isEmpty:
            throw CaptureError(.depthMapInvalid, detail: "no keyframe was specified")
        default: break
        }
    }

    // MARK: Depth

    private mutating func analyze(_ depth: CaptureRequest.Depth, profile: CaptureProfile) throws(CaptureError) {
        switch depth {
        case .unspecified: notices.append(.noDepth)
        case .declined: break
        case .map(let path, let layout): try analyze([path], layout)
        case .keyframes(let paths, let layout): try analyze(paths, layout)
        }
        if !depthBytes.isEmpty, analysis.status == .unavailable { notices.append(.depthUnavailable) }
        if analysis.status == .completed, !analysis.isLikelyRealScene { notices.append(.sceneNotReal) }
        if profile == .reference {
            // The server cannot distinguish an unavailable analysis from a failed one (M8).
            if !analysis.isLikelyRealScene { notices.append(.recordedAsSuspicious) }
            notices.append(.labeledByServer)
        }
    }

    /// Analyzes one map at a time, so only one keyframe's samples are in memory.
    private mutating func analyze(_ paths: [[UInt8]], _ layout: DepthMapFile.Layout) throws(CaptureError) {
        let clock = ContinuousClock()
        var spent = Duration.zero
        var analyses: [DepthAnalysis] = []
        for path in paths {
            let map = try DepthMapFile.read(path, layout: layout)
            spent += clock.measure { analyses.append(DepthAnalyzer.analyze(map)) }
            depthBytes += map.littleEndianBytes
            depthSize = depthSize ?? (map.width, map.height)
        }
        analysisMilliseconds = Int64(spent / .milliseconds(1))
        guard mediaType == .video, let temporal = DepthAnalyzer.analyze(keyframes: analyses) else {
            analysis = analyses.first ?? .unavailable
            return
        }
        analysis = DepthAnalyzer.summary(of: analyses, temporal: temporal)
        video?.temporalAnalysis = temporal
        notices.append(.depthFromKeyframes)
    }
}

extension CaptureRequest {
    /// Whether the user must specify or decline a depth map before submission: for every photo, and for videos on
    /// `reference`. False for a file of unknown type, which fails anyway. Reads the first bytes of the file.
    public func needsDepthChoice(at profile: CaptureProfile) -> Bool {
        guard depth == .unspecified else { return false }
        var type = mediaType
        if type == nil, let path = subject.path, let prefix = try? SourceFile(path: path).prefix(4096) {
            type = CaptureMediaType.sniffed(prefix)
        }
        return type == .photo || (type == .video && profile == .reference)
    }
}

extension CaptureMediaType {
    /// Detects the type from a file's first bytes; 4 KiB are sufficient. nil if it is neither a photo nor a video.
    package static func sniffed(_ prefix: [UInt8]) -> CaptureMediaType? {
        if MediaType.isPhoto(prefix) { return .photo }
        return MediaType.sniffed(prefix)?.kind == .video ? .video : nil
    }

    /// JPEG (ITU-T T.81, SOI and a marker).
    static func isJPEG(_ prefix: [UInt8]) -> Bool { prefix.starts(with: [0xFF, 0xD8, 0xFF]) }
}

/// Checks the consistency of the stored hash-only submission of a record, without network or private key.
struct CaptureBundle {
    typealias Finding = CaptureVerification.Finding

    private let record: CaptureRecord
    private let content: Result<(payload: HashOnlyPayload, assertion: String), CaptureError>?

    init(_ record: CaptureRecord) {
        self.record = record
        guard record.mode == .hashOnly, let bytes = record.body ?? record.unsignedBody,
            let profile = CaptureProfile(rawValue: record.profile)
        else {
            content = nil
            return
        }
        content = Result { () throws(CaptureError) in
            guard let body = HashOnlyBody(bytes: bytes) else { throw CaptureError(.recordUnusable) }
            return try HashOnlyPayload.reading(body, profile: profile)
        }
    }

    func bodyHash(_ digest: SHA256Digest) -> Finding {
        check { payload, _ in
            payload.mediaHash == digest ? .passed : .failed("the stored body has a different hash")
        }
    }

    /// Checks whether the assertion is valid for the body, key and relying party.
    func signature() -> Finding {
        signed { payload, assertion, profile in
            guard let sec1 = record.publicKey, let key = try? VerifyingKey(sec1: sec1), let rpID = record.rpID else {
                return .failed("the record has no valid public key")
            }
            guard let digest = try? payload.clientDataHash(for: profile) else {
                return .failed("hashing failed")
            }
            return assertion.isValid(for: digest, rpID: rpID, key: key)
                ? .passed : .failed("the signature does not match body and key")
        }
    }

    func counter() -> Finding {
        signed { _, assertion, _ in
            assertion.counter != nil && assertion.counter == record.counter
                ? .passed : .failed("the counters of assertion and record differ")
        }
    }

    private func signed(_ body: (HashOnlyPayload, Assertion, CaptureProfile) -> Finding) -> Finding {
        guard record.body != nil || content == nil else { return .skipped("it was never signed") }
        return check { payload, text in
            guard let assertion = Assertion(base64: text), let profile = CaptureProfile(rawValue: record.profile) else {
                return .failed("the stored body has no assertion")
            }
            return body(payload, assertion, profile)
        }
    }

    private func check(_ body: (HashOnlyPayload, String) -> Finding) -> Finding {
        switch content {
        case .success(let (payload, assertion)): body(payload, assertion)
        case .failure: .failed("the stored body cannot be read")
        case nil: .skipped(record.mode == .full ? "a full upload has no hash-only body" : "the record has no body")
        }
    }
}
