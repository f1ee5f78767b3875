extension Sequence {
    /// The first element with each key, in order of appearance.
    package func uniqued<Key: Hashable>(by key: (Element) -> Key) -> [Element] {
        var seen: Set<Key> = []
        return filter { seen.insert(key($0)).inserted }
    }
}

extension RandomAccessCollection where Index == Int {
    /// The elements in order, at most `count` in each part.
    package func chunks(of count: Int) -> [SubSequence] {
        stride(from: startIndex, to: endIndex, by: count).map { self[$0..<Swift.min($0 + count, endIndex)] }
    }
}
