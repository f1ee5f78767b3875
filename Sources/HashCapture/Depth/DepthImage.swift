internal import CImageShims
internal import CaptureSubmission

/// Depth as a grey PNG of 16 bits: whole units of a length that the caller says, 0 where nothing was measured.
enum DepthImage {
    /// What every PNG begins with.
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    #if ImageLibraries
        /// DEFLATE makes a file at most 1,032 times smaller; what is smaller still cannot hold what it says.
        private static let greatestRatio = 1_032
        /// A file may be larger than its samples by this much: other chunks, and overhead of what does not compress.
        private static let allowance = 16 << 20

        static func read(_ content: DepthMapContent, layout: DepthMapFile.Layout) throws(DepthMapFlaw) -> DepthMap {
            guard let scale = layout.scale else {
                throw DepthMapFlaw("a PNG needs a scale: how many metres one unit is")
            }
            guard scale.isFinite, scale > 0 else { throw DepthMapFlaw("a scale of \(scale), expected metres per unit") }
            guard content.count <= DepthMapFile.maximumSampleCount * 2 + allowance else {
                throw DepthMapFlaw("a PNG of \(content.count) bytes is too large for a depth map")
            }
            let bytes = try content.prefix(content.count)
            let header = try header(of: bytes)
            let (width, height) = (Int(header.width), Int(header.height))
            guard header.is_grey16 != 0 else {
                throw DepthMapFlaw("a PNG that is not grey with 16 bits")
            }
            let sampleCount = try layout.accept(width: width, height: height)
            guard sampleCount * 2 <= bytes.count * greatestRatio else {
                throw DepthMapFlaw("\(bytes.count) bytes of PNG cannot hold \(width)x\(height) samples")
            }
            let samples = try samples(of: bytes, count: sampleCount, scale: scale)
            guard let map = DepthMap(width: width, height: height, samples: samples) else {
                throw DepthMapFlaw("\(samples.count) samples for \(width)x\(height)")
            }
            return map
        }

        private static func header(of bytes: [UInt8]) throws(DepthMapFlaw) -> depth_png_header {
            var header = depth_png_header()
            try complain { depth_png_read_header(bytes, bytes.count, &header, $0) }
            return header
        }

        private static func samples(of bytes: [UInt8], count: Int, scale: Double) throws(DepthMapFlaw) -> [Float] {
            var samples = [Float](repeating: 0, count: count)
            try complain { depth_png_read_samples(bytes, bytes.count, scale, &samples, count, $0) }
            return samples
        }

        /// Throws what libpng says when a call fails.
        private static func complain(_ call: (UnsafeMutablePointer<CChar>?) -> Int32) throws(DepthMapFlaw) {
            var message = [CChar](repeating: 0, count: Int(DEPTH_PNG_MESSAGE_SIZE))
            guard message.withUnsafeMutableBufferPointer({ call($0.baseAddress) }) != 0 else { return }
            let text = message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            throw DepthMapFlaw("the PNG cannot be read: \(String(decoding: text, as: UTF8.self))")
        }
    #else
        static func read(_: DepthMapContent, layout _: DepthMapFile.Layout) throws(DepthMapFlaw) -> DepthMap {
            throw DepthMapFlaw("this build reads no PNG", code: .imageLibrariesMissing)
        }
    #endif
}
