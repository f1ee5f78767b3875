import Foundation

/// `Upload-Checksum`: an algorithm and the digest in base64 (tus 1.0.0, Checksum).
struct TusChecksum {
    var algorithm: Digest.Algorithm
    var digest: [UInt8]

    init(_ header: String) throws(TusError) {
        let pieces = header.split(separator: " ")
        guard pieces.count == 2, let algorithm = Digest.Algorithm(rawValue: String(pieces[0])),
            let digest = Data(base64Encoded: String(pieces[1]))
        else { throw .invalidChecksum }
        self.algorithm = algorithm
        self.digest = Array(digest)
    }
}
