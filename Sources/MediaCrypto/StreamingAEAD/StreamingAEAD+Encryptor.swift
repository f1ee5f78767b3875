extension StreamingAEAD {
    /// Seals bytes that come in pieces; needs the memory of one segment, whatever their number. One owner.
    ///
    /// After an error nothing may follow: the ciphertext is unfinished and nobody can open it to its end.
    package struct Encryptor: ~Copyable {
        private var cipher: SegmentCipher
        private var buffer: SegmentBuffer
        /// Bytes of plaintext that the segment at hand takes.
        private var room: Int
        private let write: (UnsafeRawBufferPointer) throws -> Void

        /// Starts a ciphertext and writes its header.
        ///
        /// - Parameters:
        ///   - key: The key.
        ///   - associatedData: Must be the same for reading.
        ///   - write: Gets the ciphertext piece by piece; valid during the call only.
        /// - Throws: `CryptoError`, and what `write` throws.
        package init(
            key: Key,
            associatedData: [UInt8],
            write: @escaping (UnsafeRawBufferPointer) throws -> Void
        ) throws {
            let random = try CryptoRandom.bytes(StreamingAEAD.headerByteCount - 1)
            let header = [UInt8(StreamingAEAD.headerByteCount)] + random
            let cipher = try SegmentCipher(.seal, header: header, key: key, associatedData: associatedData)
            try header.withUnsafeBytes { try write($0) }
            self.cipher = cipher
            self.write = write
            buffer = SegmentBuffer(byteCount: StreamingAEAD.segmentByteCount)
            room = StreamingAEAD.segmentByteCount - StreamingAEAD.tagByteCount - StreamingAEAD.headerByteCount
        }

        /// Adds plaintext.
        ///
        /// - Parameter bytes: Copied; any number.
        /// - Throws: `CryptoError`, also after `finish` or an error; what `write` throws.
        package mutating func update(_ bytes: UnsafeRawBufferPointer) throws {
            var rest = bytes
            while !rest.isEmpty {
                // A full segment waits for the byte that shows it is not the last.
                if buffer.count == room { try seal(isLast: false) }
                rest = buffer.fill(from: rest, below: room)
            }
        }

        /// Seals the last segment. Nothing may follow.
        ///
        /// - Throws: `CryptoError`, also after an error or a second time; what `write` throws.
        package mutating func finish() throws {
            try seal(isLast: true)
        }

        private mutating func seal(isLast: Bool) throws {
            let segment = buffer.first(buffer.count + StreamingAEAD.tagByteCount)
            try cipher.seal(segment, isLast: isLast)
            do {
                try write(UnsafeRawBufferPointer(segment))
            } catch {
                cipher.end()
                throw error
            }
            buffer.count = 0
            room = StreamingAEAD.segmentByteCount - StreamingAEAD.tagByteCount
        }
    }
}
