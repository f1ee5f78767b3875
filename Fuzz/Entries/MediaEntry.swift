#if DEBUG || TESTABLE
    import CaptureSubmission
    import Glibc
    @testable import HashCapture
    @testable import MediaFiles

    /// The content of a photo, a media file or a depth map, in a file, since the parsers read files.
    enum MediaEntry {
        static func check(_ bytes: [UInt8]) -> String? {
            _ = MediaType.sniffed(bytes)
            _ = StillImage.isSniffed(bytes)
            _ = CaptureMediaType.sniffed(bytes)
            return withFile(of: bytes) { path in
                guard let file = try? SourceFile(path: path) else { return nil }
                return checkFacts(of: file, bytes) ?? checkDepthMap(path)
            }
        }

        private static func checkFacts(of file: SourceFile, _ bytes: [UInt8]) -> String? {
            if let duration = MediaDuration.milliseconds(of: file), duration <= 0 {
                return "a duration of \(duration) ms"
            }
            if let seconds = MediaCreationTime.seconds(of: file), seconds < 631_152_000 || seconds > Int64(time(nil)) {
                return "a creation time of \(seconds)"
            }
            let structure = PhotoStructure(of: file)
            if let dimensions = structure.dimensions, dimensions.width < 0 || dimensions.height < 0 {
                return "dimensions of \(dimensions)"
            }
            if structure.format == nil, structure.integrity == .intact { return "an intact file without a format" }
            if PhotoStamp.read(from: file)?.isEmpty == true { return "an empty stamp" }
            let facts = CaptureFacts.reading(file)
            if let latitude = facts.latitude, let longitude = facts.longitude,
                !(abs(latitude) <= 90 && abs(longitude) <= 180)
            {
                return "a position of \(latitude), \(longitude)"
            }
            if let model = facts.deviceModel, !Shape.isPrintable(model) {
                return "an unprintable model"
            }
            return nil
        }

        /// A parsed map must be analyzable, and the results must be finite numbers.
        private static func checkDepthMap(_ path: [UInt8]) -> String? {
            for layout in [DepthMapFile.Layout(), .init(scale: 0.001), .init(width: 4, height: 3)] {
                guard let map = try? DepthMapFile.read(path, layout: layout) else { continue }
                guard map.width > 0, map.height > 0, map.samples.count == map.width * map.height else {
                    return "\(map.samples.count) samples for \(map.width)x\(map.height)"
                }
                let analysis = DepthAnalyzer.analyze(map)
                let numbers = [
                    analysis.depthVariance, analysis.edgeCoherence, analysis.minDepth, analysis.maxDepth,
                ]
                guard numbers.allSatisfy(\.isFinite), analysis.minDepth <= analysis.maxDepth else {
                    return "an invalid analysis: \(analysis)"
                }
            }
            return nil
        }

        /// Provides the path of a file in memory.
        private static func withFile(of bytes: [UInt8], _ body: ([UInt8]) -> String?) -> String? {
            let name = "/mediactl-fuzz-\(getpid())-\(UInt64.random(in: .min ... .max))"
            let descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
            guard descriptor >= 0 else { return "no file in memory: error \(errno)" }
            shm_unlink(name)
            defer { close(descriptor) }
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { return "cannot write to memory: error \(errno)" }
                rest = rest.dropFirst(count)
            }
            return body(Array("/proc/self/fd/\(descriptor)".utf8))
        }
    }
#endif
