internal import CaptureSubmission
internal import Foundation
internal import Glibc
internal import MediaFiles

/// Everything about a capture but its hash: read, checked and analysed before anything is written.
struct CaptureInput: Sendable {
    /// nil for a digest that was given.
    var file: SourceFile?
    var mediaType: CaptureMediaType
    var facts: CaptureFacts
    /// Little-endian binary32; the maps of keyframes one after the other. Empty without one.
    var depthBytes: [UInt8] = []
    /// Of the first map.
    var depthSize: (width: Int, height: Int)?
    var analysis = DepthAnalysis.unavailable
    var video: VideoMembers?
    var analysisMilliseconds: Int64 = 0
    var notices: [CaptureNotice] = []

    /// Reads what a request names.
    ///
    /// - Throws: `CaptureError`: what cannot be read, or lacks something that the profile or the type needs.
    static func read(_ request: CaptureRequest, profile: CaptureProfile) async throws(CaptureError) -> CaptureInput {
        try await BlockingWork.run { () throws(CaptureError) in
            try read(blocking: request, profile: profile)
        }
    }

    private static func read(
        blocking request: CaptureRequest,
        profile: CaptureProfile
    ) throws(CaptureError) -> CaptureInput {
        let file = try open(request.subject)
        let mediaType = try mediaType(of: file, request)
        try check(request, mediaType, profile)
        var input = CaptureInput(file: file, mediaType: mediaType, facts: request.facts)
        if let file { input.facts = request.facts.completed(by: .reading(file)) }
        if file == nil { input.notices.append(.notObserved) }
        input.video = request.video
        try input.analyze(request.depth, profile: profile)
        return input
    }

    private static func open(_ subject: CaptureRequest.Subject) throws(CaptureError) -> SourceFile? {
        guard case .file(let path) = subject else { return nil }
        do {
            return try SourceFile(path: path)
        } catch {
            throw CaptureError(error)
        }
    }

    private static func mediaType(
        of file: SourceFile?,
        _ request: CaptureRequest
    ) throws(CaptureError) -> CaptureMediaType {
        var shown: CaptureMediaType?
        if let file {
            do {
                shown = CaptureMediaType.sniffed(try file.prefix(4096))
            } catch {
                throw CaptureError(error)
            }
        }
        guard let type = request.mediaType ?? shown else {
            throw CaptureError(
                .unknownMediaType,
                detail: file == nil
                    ? "a digest does not show its type" : "its first bytes show neither photo nor video",
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

    /// What is missing, or does not belong together.
    private static func check(
        _ request: CaptureRequest,
        _ type: CaptureMediaType,
        _ profile: CaptureProfile
    ) throws(CaptureError) {
        switch (type, request.video) {
        case (.video, nil):
            throw CaptureError(.videoMembersMissing, detail: "hash chain, frame count and duration")
        case (.video, let video?) where video.frameCount < 1 || video.durationMilliseconds < 1:
            throw CaptureError(.videoMembersMissing, detail: "frame count and duration are more than 0")
        case (.photo, _?):
            throw CaptureError(.unknownMediaType, detail: "a photo has no hash chain, frames or duration")
        default: break
        }
        switch request.depth {
        case .unspecified where profile == .reference:
            throw CaptureError(.depthRequired, detail: "without depth the server records the capture as suspicious")
        case .keyframes where type == .photo:
            throw CaptureError(.depthMapInvalid, detail: "a photo has one depth map, and no keyframes")
        case .keyframes(let paths, _) where paths.isEmpty:
            throw CaptureError(.depthMapInvalid, detail: "no keyframe was named")
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
        if profile == .reference {
            // It cannot tell an analysis that was not possible from one that failed (M8).
            if !analysis.isLikelyRealScene { notices.append(.recordedAsSuspicious) }
            notices.append(.labelledByServer)
        }
    }

    /// One map at a time, so that a video's keyframes are never all in memory as samples.
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
