import Glibc
import MediaSystem

/// The frames of a write-ahead log (sqlite.org/fileformat2.html, section 4.1), also of one that is damaged.
///
/// SQLite reads a log up to the first frame whose checksum is wrong and overwrites the rest, as after a power cut. Frames
/// behind a damaged one were committed all the same: the checksum of each continues that of the frame before it, so that
/// they can still be verified one by one.
struct LogFrames {
    struct Frame {
        var page: Int
        /// Of the page's bytes in the log.
        var offset: Int64
        /// Whether the frame is as it was written.
        var isVerified: Bool
    }

    static let headerSize = 32
    static let frameHeaderSize = 24

    /// What SQLite reads: the newest frame of each page in its committed transactions.
    private(set) var pages: [Int: Int64] = [:]
    /// Behind the end that SQLite sees, in the order they were written.
    private(set) var rest: [Frame] = []
    /// Whether a transaction ends in `rest`. Without one, it is what a transaction left that was rolled back.
    private(set) var restHasCommit = false

    /// Reads a log; one without a single frame is empty.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading.
    ///   - size: Of the log in bytes.
    ///   - pageSize: Of the database.
    init(_ descriptor: Int32, size: Int64, pageSize: Int) {
        guard let header = try? FileBytes.read(descriptor, at: 0, count: Self.headerSize),
            header.count == Self.headerSize
        else { return }
        let isBigEndian = header[3] == 0x83
        let headerSum = Self.sum(header[..<24], after: (0, 0), isBigEndian)
        let isHeaderWhole = header.starts(with: [0x37, 0x7F, 0x06]) && headerSum == Self.stored(header, 24)
        let frameSize = Self.frameHeaderSize + pageSize
        let count = Int(max(size - Int64(Self.headerSize), 0)) / frameSize
        let salts = isHeaderWhole ? Array(header[16..<24]) : Self.salts(descriptor, count, frameSize)
        guard let salts else { return }

        var last = Self.stored(header, 24)
        var isUnbroken = isHeaderWhole
        var open: [Int: Int64] = [:]
        var candidates: [(frame: Frame, isCommit: Bool)] = []
        for index in 0..<count {
            let offset = Int64(Self.headerSize) + Int64(index) * Int64(frameSize)
            guard let frame = try? FileBytes.read(descriptor, at: offset, count: frameSize), frame.count == frameSize
            else { continue }
            let sum = Self.sum(frame[24...], after: Self.sum(frame[..<8], after: last, isBigEndian), isBigEndian)
            last = Self.stored(frame, 16)
            let isOfThisLog = frame[8..<16].elementsEqual(salts)
            let isVerified = isOfThisLog && sum == last
            isUnbroken = isUnbroken && isVerified
            let page = Int(Self.word(frame, 0))
            let isCommit = Self.word(frame, 4) != 0
            let data = offset + Int64(Self.frameHeaderSize)
            if isOfThisLog {
                candidates.append((Frame(page: page, offset: data, isVerified: isVerified), isCommit))
            }
            guard isUnbroken else { continue }
            open[page] = data
            if isCommit {
                pages.merge(open) { $1 }
                open = [:]
                candidates = []
            }
        }
        // A writer may have started the log afresh while it was read.
        guard (try? FileBytes.read(descriptor, at: 0, count: Self.headerSize)) == header else { return }
        rest = candidates.map(\.frame)
        restHasCommit = candidates.contains { $0.isCommit }
    }

    /// The salts of a log whose header is damaged: those that two frames in a row have, or the only frame. What an earlier
    /// use of the log has left comes later.
    private static func salts(_ descriptor: Int32, _ count: Int, _ frameSize: Int) -> [UInt8]? {
        var previous: [UInt8]?
        for index in 0..<count {
            let offset = Int64(headerSize) + Int64(index) * Int64(frameSize)
            guard let header = try? FileBytes.read(descriptor, at: offset, count: frameHeaderSize),
                header.count == frameHeaderSize
            else { return previous }
            let salts = Array(header[8..<16])
            if salts == previous || count == 1 { return salts }
            previous = salts
        }
        return nil
    }

    private static func word(_ bytes: [UInt8], _ position: Int) -> UInt32 {
        bytes[position..<position + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Stored sums have the highest byte first.
    private static func stored(_ bytes: [UInt8], _ position: Int) -> Sum {
        (word(bytes, position), word(bytes, position + 4))
    }

    private typealias Sum = (UInt32, UInt32)

    private static func sum(_ bytes: ArraySlice<UInt8>, after sum: Sum, _ isBigEndian: Bool) -> Sum {
        var (first, second) = sum
        bytes.withUnsafeBytes { buffer in
            var position = 0
            while position + 8 <= buffer.count {
                let low = buffer.loadUnaligned(fromByteOffset: position, as: UInt32.self)
                let high = buffer.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)
                first &+= (isBigEndian ? UInt32(bigEndian: low) : UInt32(littleEndian: low)) &+ second
                second &+= (isBigEndian ? UInt32(bigEndian: high) : UInt32(littleEndian: high)) &+ first
                position += 8
            }
        }
        return (first, second)
    }
}
