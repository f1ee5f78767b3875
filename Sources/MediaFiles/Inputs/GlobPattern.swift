/// A glob: `*`, `?`, `[a-z]`, `[!x]`, `{a,b}`, and `**` across directories. A pattern without a slash is matched
/// against the last component, otherwise against the whole path relative to the root. Case-sensitive.
///
/// - `*` and `?` never match a slash, but do match a dot at the start of a name (as in `rsync` and `rclone`).
/// - `**/` matches any number of directories, including none; any other `**` matches any text, including slashes.
/// - The only effect of a leading slash is that the whole path is matched. A trailing slash matches all files in such
///   directories: `.git/` matches `.git/config` and `a/.git/config`.
/// - A backslash escapes the next character, even in brackets.
/// - `?` and brackets match one character, not one byte; a byte of invalid UTF-8 counts as one character.
///
/// Matching always takes at most time proportional to the length of the path times the length of the pattern.
public struct GlobPattern: Sendable, Equatable {
    public let text: String

    private let program: GlobProgram
    /// Whether the whole path is matched rather than only its last component.
    private let isAnchored: Bool
    private let isDirectoryOnly: Bool

    /// Parses a pattern.
    ///
    /// - Throws: `GlobError` with the reason (an open bracket, an empty pattern).
    public init(_ text: String) throws(GlobError) {
        var scalars = Array(text.unicodeScalars)
        isDirectoryOnly = GlobParser.endsInSlash(scalars)
        if isDirectoryOnly { scalars.removeLast() }
        let startsWithSlash = scalars.first == "/"
        if startsWithSlash { scalars.removeFirst() }
        guard !scalars.isEmpty else { throw GlobError(pattern: text, reason: "the pattern is empty") }
        var parser = GlobParser(scalars, of: text)
        program = try parser.program()
        isAnchored = startsWithSlash || parser.hasSlash
        self.text = text
    }

    /// Whether a file matches, by its path relative to the root of the walk.
    public func matches(_ relativePath: [UInt8]) -> Bool {
        guard isDirectoryOnly else { return fits(relativePath[...]) }
        return relativePath.ancestors.contains(where: fits)
    }

    /// Like `matches`, for a file whose ancestor directories do not match.
    func matchesFile(_ relativePath: [UInt8]) -> Bool { !isDirectoryOnly && fits(relativePath[...]) }

    /// Patterns are equal if their texts are.
    public static func == (left: GlobPattern, right: GlobPattern) -> Bool {
        left.text == right.text
    }

    /// Whether a file or directory itself matches, regardless of its ancestors.
    func fits(_ path: ArraySlice<UInt8>) -> Bool {
        if isAnchored { return program.matches(path) }
        let nameStart = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? path.startIndex
        return program.matches(path[nameStart...])
    }
}

/// An invalid pattern.
public struct GlobError: Error, Sendable, Equatable {
    public var pattern: String
    public var reason: String
}

extension [UInt8] {
    /// The ancestor directories of a relative path, outermost first: `a` and `a/b` of `a/b/c`.
    var ancestors: [ArraySlice<UInt8>] {
        indices.filter { self[$0] == UInt8(ascii: "/") }.map { self[..<$0] }
    }
}

struct GlobParser {
    private(set) var hasSlash = false

    private let text: String
    private let pattern: [Unicode.Scalar]
    private var position = 0
    private var depth = 0
    /// Whether the next step is at the start of a path component.
    private var isAtComponentStart = true

    /// Sufficient for any hand-written pattern; bounds the parser's recursion.
    private static let greatestDepth = 16

    init(_ pattern: [Unicode.Scalar], of text: String) {
        self.pattern = pattern
        self.text = text
    }

    private func failure(_ reason: String) -> GlobError { GlobError(pattern: text, reason: reason) }

    /// Whether the last character is an unescaped slash.
    static func endsInSlash(_ pattern: [Unicode.Scalar]) -> Bool {
        guard pattern.last == "/" else { return false }
        return pattern.dropLast().reversed().prefix { $0 == "\\" }.count.isMultiple(of: 2)
    }

    mutating func program() throws(GlobError) -> GlobProgram {
        let steps = try sequence()
        guard position == pattern.count else { throw failure("\"}\" without \"{\"") }
        return GlobProgram(steps: steps)
    }

    /// Parses until the end, or until the comma or brace that ends an alternative.
    private mutating func sequence() throws(GlobError) -> [GlobProgram.Step] {
        var steps: [GlobProgram.Step] = []
        while let scalar = peek() {
            switch scalar {
            case "}": return steps
            case "," where depth > 0: return steps
            case "*": steps += stars()
            case "{": steps += try alternatives()
            case "[": steps.append(.take(try brackets()))
            case "?":
                position += 1
                isAtComponentStart = false
                steps.append(.take(.anyInComponent))
            default: steps.append(.take(.scalar(try literal().value)))
            }
        }
        return steps
    }

    private mutating func literal() throws(GlobError) -> Unicode.Scalar {
        if peek() == "\\" {
            position += 1
            guard position < pattern.count else { throw failure("the pattern ends with a backslash") }
        }
        let scalar = pattern[position]
        position += 1
        isAtComponentStart = scalar == "/"
        if scalar == "/" { hasSlash = true }
        return scalar
    }

    private mutating func stars() -> [GlobProgram.Step] {
        let start = position
        while peek() == "*" { position += 1 }
        guard position - start > 1 else {
            isAtComponentStart = false
            return Self.repeated(.anyInComponent)
        }
        guard isAtComponentStart, peek() == "/" else {
            isAtComponentStart = false
            return Self.repeated(.any)
        }
        position += 1
        hasSlash = true
        let directories = Self.repeated(.any) + [.take(.scalar(0x2F))]
        return [.fork(1, directories.count + 1)] + directories
    }

    private static func repeated(_ matcher: GlobProgram.Matcher) -> [GlobProgram.Step] {
        [.fork(1, 3), .take(matcher), .jump(-2)]
    }

    private mutating func alternatives() throws(GlobError) -> [GlobProgram.Step] {
        guard depth < Self.greatestDepth else { throw failure("braces are nested too deeply") }
        depth += 1
        let startsComponent = isAtComponentStart
        var allEndComponent = true
        var branches: [[GlobProgram.Step]] = []
        repeat {
            position += 1
            isAtComponentStart = startsComponent
            branches.append(try sequence())
            allEndComponent = allEndComponent && isAtComponentStart
        } while peek() == ","
        guard peek() == "}" else { throw failure("\"{\" without \"}\"") }
        position += 1
        depth -= 1
        isAtComponentStart = allEndComponent
        return Self.joined(branches)
    }

    /// Each branch except the last is preceded by a fork to the next one and followed by a jump to the end.
    private static func joined(_ branches: [[GlobProgram.Step]]) -> [GlobProgram.Step] {
        var joined = branches.last ?? []
        for branch in branches.dropLast().reversed() {
            joined = [.fork(1, branch.count + 2)] + branch + [.jump(joined.count + 1)] + joined
        }
        return joined
    }

    private mutating func brackets() throws(GlobError) -> GlobProgram.Matcher {
        position += 1
        let isNegated = peek() == "!" || peek() == "^"
        if isNegated { position += 1 }
        var ranges: [ClosedRange<UInt32>] = []
        // A closing bracket in the first position is a member.
        while ranges.isEmpty || peek() != "]" {
            let first = try member()
            var last = first
            if peek() == "-", position + 1 < pattern.count, pattern[position + 1] != "]" {
                position += 1
                last = try member()
            }
            guard first.value <= last.value else {
                throw failure("the range \(first)-\(last) ends before it begins")
            }
            ranges.append(first.value...last.value)
        }
        position += 1
        isAtComponentStart = false
        return .ranges(ranges, isNegated: isNegated)
    }

    private mutating func member() throws(GlobError) -> Unicode.Scalar {
        if peek() == "[", position + 1 < pattern.count, ":.=".unicodeScalars.contains(pattern[position + 1]) {
            throw failure("character classes such as [:alpha:] are not supported")
        }
        if peek() == "\\" { position += 1 }
        guard let scalar = peek() else { throw failure("\"[\" without \"]\"") }
        guard scalar != "/" else { throw failure("brackets must not contain a slash") }
        position += 1
        return scalar
    }

    private func peek() -> Unicode.Scalar? {
        position < pattern.count ? pattern[position] : nil
    }
}

/// A compiled pattern: a nondeterministic automaton, simulated with all its states in parallel.
///
/// Uses Thompson's construction, so the time for `*a*a*a*b` is proportional to states times characters, without
/// backtracking.
struct GlobProgram: Sendable {
    enum Matcher: Sendable {
        case scalar(UInt32)
        /// Any character except a slash.
        case anyInComponent
        case any
        /// A character in any of the ranges or, if `isNegated`, in none; never a slash.
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
        /// Consumes one character and continues with the next step.
        case take(Matcher)
        /// Continues at both relative positions.
        case fork(Int, Int)
        /// Continues at a relative position.
        case jump(Int)
    }

    /// The text matches if it ends where the steps end.
    let steps: [Step]

    func matches(_ text: ArraySlice<UInt8>) -> Bool {
        var scalars = Scalars(text)
        var scalar = scalars.next()
        // Most names differ from most patterns in their first character.
        if case .take(let matcher)? = steps.first, scalar.map(matcher.fits) != true { return false }
        // The possible states after the characters so far.
        var current = [Bool](repeating: false, count: steps.count + 1)
        add(0, to: &current)
        while let character = scalar {
            var next = [Bool](repeating: false, count: steps.count + 1)
            var hasStates = false
            for (state, step) in steps.enumerated() where current[state] {
                guard case .take(let matcher) = step, matcher.fits(character) else { continue }
                add(state + 1, to: &next)
                hasStates = true
            }
            guard hasStates else { return false }
            current = next
            scalar = scalars.next()
        }
        return current[steps.count]
    }

    /// Adds a state and all states reachable from it without consuming a character.
    private func add(_ state: Int, to states: inout [Bool]) {
        var open = [state]
        while let state = open.popLast() {
            guard !states[state] else { continue }
            states[state] = true
            guard state < steps.count else { continue }
            switch steps[state] {
            case .take: break
            case .fork(let first, let second): open += [state + first, state + second]
            case .jump(let distance): open.append(state + distance)
            }
        }
    }

    /// The scalars of a path; each byte of invalid UTF-8 becomes a number above Unicode.
    private struct Scalars {
        private var rest: ArraySlice<UInt8>

        init(_ text: ArraySlice<UInt8>) {
            rest = text
        }

        mutating func next() -> UInt32? {
            guard let first = rest.first else { return nil }
            var parser = Unicode.UTF8.ForwardParser()
            var bytes = rest.makeIterator()
            guard first >= 0x80, case .valid(let encoded) = parser.parseScalar(from: &bytes) else {
                rest.removeFirst()
                return first < 0x80 ? UInt32(first) : 0x11_0000 + UInt32(first)
            }
            rest = rest.dropFirst(encoded.count)
            return Unicode.UTF8.decode(encoded).value
        }
    }
}
