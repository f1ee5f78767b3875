internal import CaptureSubmission
internal import MediaCrypto
internal import MediaFiles
internal import MediaTransport

/// The multipart body of a full upload (hash-only contract 7): the packed depth map, then what `MultipartForm` lays out:
/// metadata and photo. The photo is read while it is sent.
struct FullCaptureForm: RequestBody {
    private let depthPart: [UInt8]
    private let rest: MultipartForm

    var byteCount: Int64 { Int64(depthPart.count) + rest.byteCount }

    var contentType: String { rest.contentType }

    /// Lays out a body.
    ///
    /// - Parameters:
    ///   - photo: JPEG.
    ///   - depthMap: A gzip stream.
    ///   - metadata: JSON.
    init(photo: FileContent, depthMap: [UInt8], metadata: String) {
        let boundary = MultipartForm.randomBoundary()
        let head =
            "--\(boundary)\r\nContent-Disposition: form-data; name=\"depth_map\"; filename=\"depth.gz\"\r\n"
            + "Content-Type: application/gzip\r\n\r\n"
        depthPart = Array(head.utf8) + depthMap + Array("\r\n".utf8)
        // Not its name here: that is nobody's business.
        let file = MultipartForm.FilePart(
            name: "photo",
            fileName: "photo.jpg",
            contentType: "image/jpeg",
            content: photo
        )
        rest = MultipartForm(fields: [("metadata", metadata)], file: file, boundary: boundary)
    }

    func makeReader() -> any RequestBodyReader { Reader(depthPart, rest.makeReader()) }

    /// The digest of all bytes, which the request's signature covers. Reads the photo once more.
    ///
    /// - Throws: `CaptureError` `.sourceChanged`, `.fileUnreadable`.
    func digest() async throws(CaptureError) -> SHA256Digest {
        try await BlockingWork.run { () throws(CaptureError) in
            do {
                var hasher = try SHA256Hasher()
                let reader = makeReader()
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
                defer { buffer.deallocate() }
                while true {
                    let count = try reader.read(into: buffer)
                    if count == 0 { return try hasher.snapshot() }
                    hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                }
            } catch FileContentError.shrank {
                throw CaptureError(.sourceChanged, detail: "the file became shorter while it was hashed")
            } catch {
                throw CaptureError(.fileUnreadable, detail: "the file cannot be read")
            }
        }
    }

    /// First the depth map, then the rest.
    private final class Reader: RequestBodyReader {
        private let first: [UInt8]
        private let rest: any RequestBodyReader
        private var offset = 0

        init(_ first: [UInt8], _ rest: any RequestBodyReader) {
            self.first = first
            self.rest = rest
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            guard offset < first.count else { return try rest.read(into: buffer) }
            let count = min(buffer.count, first.count - offset)
            buffer.copyBytes(from: first[offset..<offset + count])
            offset += count
            return count
        }

        func rewind() throws {
            offset = 0
            try rest.rewind()
        }
    }
}
