extension Sequence {
    /// The first element of each key, in order of appearance.
    func uniqued(by key: (Element) -> some Hashable) -> [Element] {
        var seen: Set<AnyHashable> = []
        return filter { seen.insert(key($0)).inserted }
    }
}
