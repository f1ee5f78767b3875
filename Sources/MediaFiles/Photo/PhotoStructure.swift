internal import MediaCore

/// The format, dimensions and integrity of an image file, determined by its structure.
///
/// Checks the whole file: JPEG markers and entropy-coded data, PNG chunks with their checksums, GIF blocks, WebP
/// chunks, HEIF boxes. It does not compute pixels, so changed bytes inside compressed data are detected only if they
/// break the structure. Memory is bounded: 64 KiB, up to 1 MiB for a box of a HEIF file, and up to 32 MiB for a
/// progressive JPEG.
package struct PhotoStructure: Sendable, Equatable {
    /// The formats that PhotoSync servers accept (photosync contract 3.2).
    package enum Format: String, Sendable, CaseIterable {
        case jpeg = "JPEG"
        case png = "PNG"
        case gif = "GIF"
        case webP = "WebP"
        case heif = "HEIF"
    }

    /// Whether the file is complete.
    package enum Integrity: Sendable, Equatable {
        /// The structure is complete.
        case intact
        /// The structure is incomplete or invalid; contains the reason.
        case damaged(String)
        /// The structure uses a feature that is not checked; contains the feature.
        case unchecked(String)
    }

    /// Dimensions as stored, before any rotation.
    package struct Dimensions: Sendable, Equatable {
        package var width: Int
        package var height: Int

        /// Whether the dimensions are equal, or equal after a rotation by 90 degrees. Exif data and HEIF boxes may both
        /// rotate an image, and servers list its dimensions after the rotation (photosync contract section 5).
        package func match(width: Int, height: Int) -> Bool {
            (self.width, self.height) == (width, height) || (self.width, self.height) == (height, width)
        }

        package init(width: Int, height: Int) {
            self.width = width
            self.height = height
        }
    }

    /// Determined by the first bytes; nil for a file in a different format.
    package var format: Format?
    /// nil if unknown.
    package var dimensions: Dimensions?
    /// Whether the file is complete.
    package var integrity: Integrity

    /// Examines a file. Blocks; reads all of a JPEG, PNG or GIF, and a small part of other files.
    package init(of file: SourceFile) {
        // Up to 1 GiB in windows of 64 KiB, twenty times the maximum size of a photo.
        self.init(BoundedContent(of: file, reads: 16_384))
    }

    init(_ content: BoundedContent) {
        var window = ByteWindow(content)
        let start = content.bytes(at: 0, count: Int(min(12, content.count))) ?? []
        format = Self.format(start)
        integrity = .intact
        do throws(StructureError) {
            switch format {
            case .jpeg:
                var jpeg = JPEGStructure(window)
                defer { dimensions = jpeg.dimensions }
                try jpeg.check()
            case .png: try PNGStructure.check(&window, &dimensions)
            case .gif: try GIFStructure.check(&window, &dimensions)
            case .webP: try WebPStructure.check(content, &dimensions)
            case .heif: try HEIFStructure.check(content, &dimensions)
            case nil: throw .damaged("not an image")
            }
        } catch {
            integrity =
                switch error {
                case .damaged(let reason): .damaged(reason)
                case .unchecked(let reason): .unchecked(reason)
                case .truncated: .damaged("the file ends early")
                }
        }
    }

    private static func format(_ start: [UInt8]) -> Format? {
        if start.starts(with: [0xFF, 0xD8]) { return .jpeg }
        if start.starts(with: PNGStructure.signature) { return .png }
        if start.starts(with: Array("GIF87a".utf8)) || start.starts(with: Array("GIF89a".utf8)) { return .gif }
        if start.fourCharacters(at: 0) == "RIFF", start.fourCharacters(at: 8) == "WEBP" { return .webP }
        if start.fourCharacters(at: 4) == "ftyp" { return .heif }
        return nil
    }
}

/// The reason why a structure is not intact.
enum StructureError: Error {
    case damaged(String)
    case unchecked(String)
    /// The bytes end early.
    case truncated
}

/// The bytes of a file in sequence, read in windows.
struct ByteWindow {
    private static let size = 65_536

    let content: BoundedContent
    private var bytes: [UInt8] = []
    private var index = 0
    /// Offset of the first byte after the window.
    private var end: Int64 = 0

    init(_ content: BoundedContent) { self.content = content }

    /// Offset of the next byte.
    var position: Int64 { end - Int64(bytes.count - index) }

    /// The next byte; nil at the end of the file.
    mutating func next() -> UInt8? {
        if index == bytes.count, !refill() { return nil }
        defer { index += 1 }
        return bytes[index]
    }

    private mutating func refill() -> Bool {
        let count = Int(min(Int64(Self.size), content.count - end))
        guard count > 0, let read = content.bytes(at: end, count: count) else { return false }
        bytes = read
        index = 0
        end += Int64(count)
        return true
    }

    /// Moves to an offset, which may be beyond the end of the file.
    mutating func seek(to offset: Int64) {
        let start = end - Int64(bytes.count)
        if offset >= start, offset <= end {
            index = Int(offset - start)
        } else {
            bytes = []
            index = 0
            end = max(0, offset)
        }
    }

    mutating func byte() throws(StructureError) -> UInt8 {
        guard let byte = next() else { throw .truncated }
        return byte
    }

    /// The next bytes, at most a few kilobytes.
    mutating func take(_ count: Int) throws(StructureError) -> [UInt8] {
        var taken: [UInt8] = []
        taken.reserveCapacity(count)
        for _ in 0..<count { taken.append(try byte()) }
        return taken
    }

    mutating func bigEndian(_ count: Int) throws(StructureError) -> Int {
        var value = 0
        for _ in 0..<count { value = value << 8 | Int(try byte()) }
        return value
    }

    mutating func littleEndian(_ count: Int) throws(StructureError) -> Int {
        var value = 0
        for shift in 0..<count { value |= Int(try byte()) << (8 * shift) }
        return value
    }

    mutating func skip(_ count: Int64) throws(StructureError) {
        guard count >= 0, count <= content.count - position else { throw .truncated }
        seek(to: position + count)
    }
}

/// PNG, third edition, section 5.
enum PNGStructure {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    static func check(
        _ bytes: inout ByteWindow,
        _ dimensions: inout PhotoStructure.Dimensions?
    ) throws(StructureError) {
        try bytes.skip(Int64(signature.count))
        var hasImageData = false
        var isFirst = true
        while true {
            let count = try bytes.bigEndian(4)
            guard Int64(count) <= bytes.content.count - bytes.position - 8 else { throw .truncated }
            let type = try bytes.take(4)
            var check = CyclicCheck.gzip.of(type)
            let isHeader = type.elementsEqual("IHDR".utf8)
            guard isHeader == isFirst, !isHeader || count == 13 else { throw .damaged("invalid header") }
            if isHeader {
                let header = try bytes.take(13)
                check = CyclicCheck.gzip.of(header, after: check)
                let width = header.bigEndian(at: 0, count: 4).map(Int.init) ?? 0
                let height = header.bigEndian(at: 4, count: 4).map(Int.init) ?? 0
                guard width > 0, height > 0 else { throw .damaged("no dimensions") }
                dimensions = PhotoStructure.Dimensions(width: width, height: height)
            } else {
                var rest = count
                while rest > 0 {
                    let part = try bytes.take(min(rest, 4_096))
                    check = CyclicCheck.gzip.of(part, after: check)
                    rest -= part.count
                }
            }
            guard try bytes.bigEndian(4) == Int(check) else { throw .damaged("chunk checksum mismatch") }
            isFirst = false
            if type.elementsEqual("IDAT".utf8) { hasImageData = hasImageData || count > 0 }
            if type.elementsEqual("IEND".utf8) { break }
        }
        guard hasImageData else { throw .damaged("no image data") }
    }
}

/// GIF89a, with any blocks in any order.
enum GIFStructure {
    static func check(
        _ bytes: inout ByteWindow,
        _ dimensions: inout PhotoStructure.Dimensions?
    ) throws(StructureError) {
        var hasImage = false
        try forEachBlock(&bytes, { dimensions = $0 }) { (_, block) throws(StructureError) in
            if block == .image { hasImage = true }
        }
        guard hasImage else { throw .damaged("no image data") }
    }

    enum Block: Equatable {
        case image
        /// An application extension, with its identifier.
        case application([UInt8])
        case other
    }

    /// Calls `onHeader` with the dimensions of the canvas, and `body` after each block with the range of its
    /// sub-blocks. `bytes` must be at the start of the file.
    static func forEachBlock(
        _ bytes: inout ByteWindow,
        _ onHeader: (PhotoStructure.Dimensions) -> Void,
        _ body: (Range<Int64>, Block) throws(StructureError) -> Void
    ) throws(StructureError) {
        try bytes.skip(6)
        let dimensions = PhotoStructure.Dimensions(width: try bytes.littleEndian(2), height: try bytes.littleEndian(2))
        onHeader(dimensions)
        let flags = try bytes.byte()
        try bytes.skip(2)
        try skipColors(flags, &bytes)
        while true {
            var block = Block.other
            switch try bytes.byte() {
            case 0x2C:
                block = .image
                try bytes.skip(8)
                let flags = try bytes.byte()
                try skipColors(flags, &bytes)
                guard (2...11).contains(try bytes.byte()) else { throw .damaged("invalid image data") }
            case 0x21:
                if try bytes.byte() == 0xFF {
                    let count = Int(try bytes.byte())
                    block = .application(try bytes.take(count))
                }
            case 0x3B: return
            default: throw .damaged("invalid block")
            }
            let start = bytes.position
            while case let count = try bytes.byte(), count > 0 { try bytes.skip(Int64(count)) }
            if block == .image, bytes.position == start + 1 { throw .damaged("no image data") }
            try body(start..<bytes.position, block)
        }
    }

    private static func skipColors(_ flags: UInt8, _ bytes: inout ByteWindow) throws(StructureError) {
        if flags & 0x80 != 0 { try bytes.skip(3 << (Int64(flags & 7) + 1)) }
    }
}

/// RFC 9649.
enum WebPStructure {
    static func check(
        _ content: BoundedContent,
        _ dimensions: inout PhotoStructure.Dimensions?
    ) throws(StructureError) {
        guard let size = content.bytes(at: 4, count: 4)?.littleEndian(at: 0, count: 4),
            Int64(size) <= content.count - 8
        else { throw .truncated }
        let end = Int64(size) + 8
        var start: Int64 = 12
        var hasImage = false
        while start < end {
            guard end - start >= 8, let header = content.bytes(at: start, count: 8),
                let count = header.littleEndian(at: 4, count: 4).map(Int64.init), count <= end - start - 8
            else { throw .damaged("a chunk exceeds the file") }
            let type = header.fourCharacters(at: 0)
            let head = content.bytes(at: start + 8, count: Int(min(count, 16))) ?? []
            switch type {
            case "VP8X", "VP8 ", "VP8L":
                guard let found = Self.dimensions(type, head) else { throw .damaged("invalid \(type) chunk") }
                // The dimensions of the canvas, which comes first, apply to the whole image.
                dimensions = dimensions ?? found
                hasImage = hasImage || type != "VP8X"
            case "ANMF": hasImage = true
            default: break
            }
            start += 8 + count + count % 2
        }
        guard hasImage else { throw .damaged("no image data") }
    }

    private static func dimensions(_ type: String, _ head: [UInt8]) -> PhotoStructure.Dimensions? {
        switch type {
        case "VP8X":
            guard let width = head.littleEndian(at: 4, count: 3), let height = head.littleEndian(at: 7, count: 3)
            else { return nil }
            return PhotoStructure.Dimensions(width: Int(width) + 1, height: Int(height) + 1)
        case "VP8L":
            guard head.first == 0x2F, let bits = head.littleEndian(at: 1, count: 4) else { return nil }
            return PhotoStructure.Dimensions(width: Int(bits & 0x3FFF) + 1, height: Int(bits >> 14 & 0x3FFF) + 1)
        default:
            guard head.count >= 10, head[3..<6].elementsEqual([0x9D, 0x01, 0x2A]),
                let width = head.littleEndian(at: 6, count: 2), let height = head.littleEndian(at: 8, count: 2)
            else { return nil }
            return PhotoStructure.Dimensions(width: Int(width & 0x3FFF), height: Int(height & 0x3FFF))
        }
    }
}

/// ISO/IEC 23008-12: boxes up to the end of the file, which must contain the data of every item.
enum HEIFStructure {
    static func check(
        _ content: BoundedContent,
        _ dimensions: inout PhotoStructure.Dimensions?
    ) throws(StructureError) {
        var start: Int64 = 0
        var meta: Span?
        while start < content.count {
            guard let box = content.box(at: start, before: content.count) else { throw .truncated }
            if box.type == "meta" { meta = meta ?? box.content.dropping(4) }
            start = box.content.end
        }
        guard let meta, let primary = primaryItem(in: meta, of: content) else { throw .damaged("no image") }
        dimensions = Self.dimensions(of: primary, in: meta, of: content)
        guard let locations = ItemLocations(in: meta, of: content) else { throw .damaged("no item locations") }
        let itemData = content.box("idat", in: meta)?.count ?? 0
        var primaryBytes: Int64 = 0
        let areAllInside = locations.forEachExtent { item, isInItemData, offset, count in
            let room = isInItemData ? itemData : content.count
            guard offset <= room, count <= room - offset else { return false }
            // A length of zero means all remaining data.
            if item == primary { primaryBytes = max(primaryBytes, count > 0 ? count : room - offset) }
            return true
        }
        guard areAllInside else { throw .damaged("image data exceeds the file") }
        guard primaryBytes > 0 else { throw .damaged("no image data") }
    }

    private static func primaryItem(in meta: Span, of content: BoundedContent) -> UInt64? {
        guard let box = content.box("pitm", in: meta),
            let version = content.bytes(at: box.start, count: 1)?.first
        else { return nil }
        let width = version == 0 ? 2 : 4
        guard box.dropping(4 + Int64(width)) != nil else { return nil }
        return content.bigEndian(at: box.start + 4, count: width)
    }

    /// The `ispe` property of an item (section 6.5.3), by its associations (section 9.3.1 of ISO/IEC 14496-12).
    private static func dimensions(
        of item: UInt64,
        in meta: Span,
        of content: BoundedContent
    ) -> PhotoStructure.Dimensions? {
        guard let properties = content.box("iprp", in: meta),
            let list = content.box("ipco", in: properties),
            let box = content.box("ipma", in: properties), box.count <= 1 << 20,
            let bytes = content.bytes(at: box.start, count: Int(box.count))
        else { return nil }
        let wanted = associations(of: item, bytes)
        for (index, box) in zip(1..., content.boxes(in: list)) {
            if box.type == "ispe", wanted.contains(index), box.content.dropping(12) != nil,
                let fields = content.bytes(at: box.content.start, count: 12),
                let width = fields.bigEndian(at: 4, count: 4), let height = fields.bigEndian(at: 8, count: 4)
            {
                return PhotoStructure.Dimensions(width: Int(width), height: Int(height))
            }
        }
        return nil
    }

    private static func associations(of item: UInt64, _ bytes: [UInt8]) -> Set<Int> {
        guard bytes.count >= 8 else { return [] }
        let isLong = bytes[3] & 1 == 1
        var fields = FieldReader(bytes: bytes, offset: 4)
        for _ in 0..<(fields.next(4) ?? 0) {
            guard let id = fields.next(bytes[0] == 0 ? 2 : 4), let count = fields.next(1) else { return [] }
            var indices: Set<Int> = []
            for _ in 0..<count {
                guard let index = fields.next(isLong ? 2 : 1) else { return [] }
                indices.insert(Int(index & (isLong ? 0x7FFF : 0x7F)))
            }
            if id == item { return indices }
        }
        return []
    }
}
