internal import CaptureSubmission
internal import Glibc
internal import MediaFiles
internal import MediaSystem

/// The bytes of a file that holds a depth map.
struct DepthMapContent {
    /// How a sample is stored.
    struct Encoding: Equatable {
        /// 4 or 8: binary32 or binary64.
        var byteCount: Int
        var isBigEndian: Bool
    }

    /// Samples of a file, in any order.
    struct Samples {
        var values: [Float]
        var extent = DepthExtent()
    }

    /// Length in bytes.
    var count: Int { Int(file.status.size) }
    private let file: SourceFile

    init(_ path: [UInt8]) throws(CaptureError) {
        do {
            file = try SourceFile(path: path)
        } catch {
            switch error.kind {
            case .notFound: throw CaptureError(.fileNotFound, path: path, underlying: error)
            case .isDirectory, .notRegular: throw CaptureError(.notRegularFile, path: path, underlying: error)
            case .empty:
                throw CaptureError(.depthMapInvalid, detail: "the file is empty", path: path, underlying: error)
            case .permissionDenied, .io: throw CaptureError(.fileUnreadable, path: path, underlying: error)
            }
        }
    }

    /// The first bytes; fewer only where the file ends.
    func prefix(_ count: Int) throws(DepthMapFlaw) -> [UInt8] {
        do {
            return try file.prefix(count)
        } catch {
            throw DepthMapFlaw("reading failed", code: .fileUnreadable)
        }
    }

    /// The samples from an offset to the end of the file, which must be exactly there.
    ///
    /// - Parameters:
    ///   - offset: Of the first one.
    ///   - sampleCount: Checked against the limit; nothing is allocated before the length has been checked as well.
    ///   - encoding: How they are stored.
    /// - Returns: In the file's order.
    /// - Throws: With what was found and expected.
    func samples(at offset: Int, count sampleCount: Int, _ encoding: Encoding) throws(DepthMapFlaw) -> Samples {
        let expected = offset + sampleCount * encoding.byteCount
        guard count == expected else {
            let header = offset > 0 ? "a header of \(offset) bytes and " : ""
            throw DepthMapFlaw(
                "\(count) bytes, expected \(expected): \(header)\(sampleCount) samples of \(encoding.byteCount) bytes"
            )
        }
        var samples = Samples(values: [Float](repeating: 0, count: sampleCount))
        var block = [UInt8](repeating: 0, count: min(1 << 20, sampleCount * encoding.byteCount))
        var done = 0
        while done < sampleCount {
            let wanted = min(block.count, (sampleCount - done) * encoding.byteCount)
            try fill(&block, count: wanted, from: offset + done * encoding.byteCount)
            block.withUnsafeBytes { bytes in
                for index in 0..<wanted / encoding.byteCount {
                    samples.values[done + index] = encoding.sample(index, of: bytes)
                }
            }
            let end = done + wanted / encoding.byteCount
            // While they are in the cache.
            samples.values.withUnsafeBufferPointer { samples.extent.add(UnsafeBufferPointer(rebasing: $0[done..<end])) }
            done = end
        }
        return samples
    }

    private func fill(_ block: inout [UInt8], count wanted: Int, from offset: Int) throws(DepthMapFlaw) {
        let read = block.withUnsafeMutableBytes { buffer in
            Result { () throws(FileBytes.Failure) in
                let window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                return try FileBytes.read(file.descriptor, at: Int64(offset), into: window)
            }
        }
        let filled: Int
        do {
            filled = try read.get()
        } catch {
            throw DepthMapFlaw("reading failed: error \(error.code)", code: .fileUnreadable)
        }
        guard filled == wanted else { throw DepthMapFlaw("the file ended at byte \(offset + filled) of \(count)") }
    }
}

extension DepthMapContent.Encoding {
    /// The sample at an index. binary64 is rounded; what is too large becomes infinite, which is a hole.
    @inline(__always)
    fileprivate func sample(_ index: Int, of bytes: UnsafeRawBufferPointer) -> Float {
        switch byteCount {
        case 4:
            let bits = bytes.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)
            return Float(bitPattern: isBigEndian ? UInt32(bigEndian: bits) : UInt32(littleEndian: bits))
        default:
            let bits = bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
            return Float(Double(bitPattern: isBigEndian ? UInt64(bigEndian: bits) : UInt64(littleEndian: bits)))
        }
    }
}

extension DepthMapContent {
    /// A file without a header. It holds exactly the samples of the size that the caller says; no size is guessed.
    func rawMap(layout: DepthMapFile.Layout) throws(DepthMapFlaw) -> DepthMap {
        guard let width = layout.width, let height = layout.height else {
            throw DepthMapFlaw("neither PNG, PFM nor NPY; a raw map of \(count) bytes needs its size")
        }
        let sampleCount = try layout.accept(width: width, height: height)
        let encoding = Encoding(byteCount: 4, isBigEndian: false)
        return try .of(width, height, samples(at: 0, count: sampleCount, encoding))
    }
}

extension DepthMap {
    /// A map whose samples have been counted.
    static func of(
        _ width: Int,
        _ height: Int,
        _ samples: DepthMapContent.Samples
    ) throws(DepthMapFlaw) -> DepthMap {
        let (values, extent) = (samples.values, samples.extent)
        guard let map = DepthMap(width: width, height: height, samples: values, extent: extent) else {
            throw DepthMapFlaw("\(values.count) samples for \(width)x\(height)")
        }
        return map
    }
}
