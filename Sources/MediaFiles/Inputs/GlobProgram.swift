/// What a pattern compiles to: a non-deterministic automaton, walked with all its states at once.
///
/// Thompson's construction, so that `*a*a*a*b` costs states times characters and never tries one way after another.
struct GlobProgram: Sendable {
    /// What one character may be.
    enum Matcher: Sendable {
        case scalar(UInt32)
        /// Anything but a slash.
        case anyInComponent
        /// Anything.
        case any
        /// One of the ranges, or with `isNegated` none of them; never a slash.
        case ranges([ClosedRange<UInt32>], isNegated: Bool)

        func fits(_ scalar: UInt32) -> Bool {
            switch self {
            case .scalar(let wanted): scalar == wanted
            case .anyInComponent: scalar != Self.slash
            case .any: true
            case .ranges(let ranges, let isNegated):
                scalar != Self.slash && ranges.contains { $0.contains(scalar) } != isNegated
            }
        }

        private static let slash: UInt32 = 0x2F
    }

    enum Step: Sendable {
        /// Takes one character and goes on with the next step.
        case take(Matcher)
        /// Goes on at both places, which are distances from here.
        case fork(Int, Int)
        /// Goes on at a distance from here.
        case jump(Int)
    }

    /// Reaching the end of the steps with the end of the text is a match.
    let steps: [Step]

    func matches(_ text: ArraySlice<UInt8>) -> Bool {
        var current = StateSet(count: steps.count + 1)
        var next = current
        var open: [Int] = []
        add(0, to: &current, using: &open)
        for scalar in Scalars(text) {
            next.removeAll()
            for state in current.members where state < steps.count {
                guard case .take(let matcher) = steps[state], matcher.fits(scalar) else { continue }
                add(state + 1, to: &next, using: &open)
            }
            swap(&current, &next)
            if current.members.isEmpty { return false }
        }
        return current.contains(steps.count)
    }

    /// Adds a state and all that are reached from it without taking a character. `open` is empty before and after; it is
    /// handed in so that its memory is used again.
    private func add(_ state: Int, to set: inout StateSet, using open: inout [Int]) {
        open.append(state)
        while let state = open.popLast() {
            guard set.insert(state), state < steps.count else { continue }
            switch steps[state] {
            case .take: break
            case .fork(let first, let second):
                open.append(state + first)
                open.append(state + second)
            case .jump(let distance): open.append(state + distance)
            }
        }
    }
}

/// A set of small numbers that remembers the order of arrival, and is emptied in the time of its members.
private struct StateSet {
    private(set) var members: [Int] = []
    private var isMember: [Bool]

    init(count: Int) {
        isMember = Array(repeating: false, count: count)
    }

    func contains(_ state: Int) -> Bool { isMember[state] }

    mutating func insert(_ state: Int) -> Bool {
        guard !isMember[state] else { return false }
        isMember[state] = true
        members.append(state)
        return true
    }

    mutating func removeAll() {
        for state in members { isMember[state] = false }
        members.removeAll(keepingCapacity: true)
    }
}

/// The characters of a path; each byte that is not UTF-8 becomes a number above all of Unicode.
private struct Scalars: Sequence, IteratorProtocol {
    private var parser = Unicode.UTF8.ForwardParser()
    private var bytes: ArraySlice<UInt8>.Iterator
    private let text: ArraySlice<UInt8>
    private var offset: Int
    private var brokenEnd: Int

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
        bytes = text.makeIterator()
        offset = text.startIndex
        brokenEnd = text.startIndex
    }

    mutating func next() -> UInt32? {
        if offset < brokenEnd { return brokenByte() }
        switch parser.parseScalar(from: &bytes) {
        case .valid(let encoded):
            offset += encoded.count
            return Unicode.UTF8.decode(encoded).value
        case .error(let length):
            brokenEnd = offset + length
            return brokenByte()
        case .emptyInput:
            return nil
        }
    }

    private mutating func brokenByte() -> UInt32 {
        defer { offset += 1 }
        return 0x11_0000 + UInt32(text[offset])
    }
}
