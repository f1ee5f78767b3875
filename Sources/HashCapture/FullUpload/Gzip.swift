internal import CZlib
internal import CaptureSubmission

enum Gzip {
    /// Compresses bytes to a gzip stream (RFC 1952) without a file name or time.
    static func compress(_ bytes: [UInt8]) throws(CaptureError) -> [UInt8] {
        // zlib stores the address of the stream, so it must not change between the calls.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        // A window of 15 bits, plus 16 to select the gzip header.
        let code = deflateInit2_(
            stream,
            Z_DEFAULT_COMPRESSION,
            Z_DEFLATED,
            15 + 16,
            8,
            Z_DEFAULT_STRATEGY,
            ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size)
        )
        guard code == Z_OK else { throw CaptureError(.internalError, detail: "zlib could not be initialized") }
        defer { deflateEnd(stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(stream, uLong(bytes.count))))
        let isDone = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = uInt(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = uInt(output.count)
                return deflate(stream, Z_FINISH) == Z_STREAM_END
            }
        }
        guard isDone else { throw CaptureError(.internalError, detail: "zlib did not finish") }
        return Array(output[..<Int(stream.pointee.total_out)])
    }
}
