/// A row as it is stored: in a table with its row number, in an index without.
struct StoredRow {
    var rowID: Int64?
    var values: [RecordValue]
    /// Whether its page is as SQLite writes it. A row that was found by its shape alone may be damaged or outdated.
    var isTrusted: Bool
}

/// The rows of a page of SQLite's file format (sqlite.org/fileformat2.html, section 1.6).
struct DatabasePage {
    let bytes: [UInt8]
    /// From 1. The first page begins with the header of the file.
    let number: Int
    /// Returns another page, for values that continue there.
    let other: (Int) -> [UInt8]?

    private var headerStart: Int { number == 1 ? 100 : 0 }

    /// All rows. Those of a page that is not as SQLite writes it are searched by their shape.
    func rows() -> [StoredRow] {
        guard bytes.contains(where: { $0 != 0 }) else { return [] }
        guard bytes.count > headerStart + 12 else { return [] }
        guard let (rows, rest) = orderly() else { return searched() }
        // A damaged directory may lack rows that are on the page.
        guard rest.contains(where: { $0 != 0 }) else { return rows }
        return rows + DatabasePage(bytes: rest, number: number, other: other).searched()
    }

    // MARK: By the page's own directory

    /// - Returns: The rows, and the page with zeros in their place. nil if anything does not fit.
    private func orderly() -> (rows: [StoredRow], rest: [UInt8])? {
        let kind = bytes[headerStart]
        let size: Int
        switch kind {
        case 0x0D, 0x0A: size = 8
        case 0x02: size = 12
        // The inner pages of tables have no rows, unless the kind itself is damaged.
        case 0x05: return ([], bytes)
        default: return nil
        }
        let count = word(headerStart + 3)
        let directoryEnd = headerStart + size + 2 * count
        guard directoryEnd <= bytes.count else { return nil }
        var rows: [StoredRow] = []
        var rest = bytes
        rest.replaceSubrange(0..<directoryEnd, with: repeatElement(0, count: directoryEnd))
        for index in 0..<count {
            let start = word(headerStart + size + 2 * index)
            let cellStart = start + (kind == 0x02 ? 4 : 0)
            guard let (row, end) = cell(at: cellStart, isTable: kind == 0x0D) else { return nil }
            rows.append(row)
            rest.replaceSubrange(start..<end, with: repeatElement(0, count: end - start))
        }
        return (rows, rest)
    }

    private func cell(at start: Int, isTable: Bool) -> (StoredRow, end: Int)? {
        var position = start
        guard position > 0, let size = DatabaseRecord.varint(bytes, &position), size > 0, size < 1 << 24 else {
            return nil
        }
        var rowID: Int64?
        if isTable {
            rowID = DatabaseRecord.varint(bytes, &position)
            guard rowID != nil else { return nil }
        }
        guard let (payload, end) = payload(Int(size), at: position, isTable: isTable),
            let values = DatabaseRecord.values(payload, 0..<payload.count)
        else { return nil }
        return (StoredRow(rowID: rowID, values: values, isTrusted: true), end)
    }

    /// The bytes of a record, the part in other pages included.
    ///
    /// - Returns: The bytes, and where the cell ends on this page.
    private func payload(_ size: Int, at start: Int, isTable: Bool) -> ([UInt8], end: Int)? {
        let usable = bytes.count
        let most = isTable ? usable - 35 : (usable - 12) * 64 / 255 - 23
        let least = (usable - 12) * 32 / 255 - 23
        let surplus = least + (size - least) % (usable - 4)
        let local = size <= most ? size : surplus <= most ? surplus : least
        guard start + local <= bytes.count else { return nil }
        var payload = Array(bytes[start..<start + local])
        guard local < size else { return (payload, start + local) }
        guard start + local + 4 <= bytes.count else { return nil }
        var next = Self.long(bytes, start + local)
        while payload.count < size {
            guard next > 0, let page = other(next), page.count == usable else { return nil }
            payload += page[4..<min(usable, 4 + size - payload.count)]
            next = Self.long(page, 0)
        }
        return (payload, start + local + 4)
    }

    // MARK: By shape

    /// Tries a row at every byte.
    private func searched() -> [StoredRow] {
        var rows: [StoredRow] = []
        var start = 0
        while start < bytes.count - 8 {
            if let (row, end) = row(at: start) {
                rows.append(row)
                start = end
            } else {
                start += 1
            }
        }
        return rows
    }

    private func row(at start: Int) -> (StoredRow, end: Int)? {
        var position = start
        guard let size = DatabaseRecord.varint(bytes, &position), size >= 12, Int(size) <= bytes.count - position else {
            return nil
        }
        if let row = recognized(nil, position..<position + Int(size)) { return row }
        guard let rowID = DatabaseRecord.varint(bytes, &position), rowID > 0, Int(size) <= bytes.count - position else {
            return nil
        }
        return recognized(rowID, position..<position + Int(size))
    }

    private func recognized(_ rowID: Int64?, _ range: Range<Int>) -> (StoredRow, end: Int)? {
        guard let values = DatabaseRecord.values(bytes, range) else { return nil }
        let row = StoredRow(rowID: rowID, values: values, isTrusted: false)
        return SalvagedRow(row) == nil ? nil : (row, range.upperBound)
    }

    private func word(_ position: Int) -> Int { Int(bytes[position]) << 8 | Int(bytes[position + 1]) }

    private static func long(_ bytes: [UInt8], _ position: Int) -> Int {
        bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
    }
}
