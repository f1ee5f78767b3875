// swift-tools-version: 6.2
import PackageDescription

// The tools version selects language mode 6; these settings also make imports and existentials explicit.
var strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // Failpoints, at which a test build can be made to exit (MediaSystem/Failpoint.swift).
    .define("KILL_POINTS", .when(configuration: .debug)),
]
// Set by the Makefile. A plain `swift build` with a newer compiler must not fail because of its new warnings.
if Context.environment["MEDIACTL_WARNINGS_AS_ERRORS"] == "1" {
    strict.append(.unsafeFlags(["-warnings-as-errors"]))
}

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let sandbox: Target.Dependency = .product(name: "mediactl-sandbox", package: "Sandbox")

let foundations: [Target.Dependency] = [
    "MediaCore", "MediaCrypto", "MediaFiles", "MediaStore", "MediaSystem", "MediaTransport", "Outcomes",
]
// A module per type of server, with the parts that are separate modules.
let systems: [Target.Dependency] = ["CaptureSubmission", "GigHive", "HashCapture", "PhotoSync", "Tapes", "Tus"]

let package = Package(
    name: "mediactl",
    products: [
        .executable(name: "mediactl", targets: ["mediactl"]),
        .library(name: "MediaKit", targets: ["MediaKit"]),
    ],
    traits: [
        .trait(name: "ImageLibraries", description: "Depth maps in PNG by libpng."),
        .default(enabledTraits: ["ImageLibraries"]),
    ],
    dependencies: [
        // Only tests require it: SwiftPM does not fetch it for a package that depends on this one.
        .package(path: "Sandbox"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    ],
    targets: [
        // C: system libraries and the typed shims that Swift requires.
        .systemLibrary(
            name: "CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .target(name: "CCurlShims", dependencies: ["CCurl"]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        // libpng, without a module of its own: its header includes <time.h>, and Swift would then treat `tm` as part of
        // that module. Empty without the trait, so that it builds without the headers.
        .target(
            name: "CImageShims",
            cSettings: [.define("IMAGE_LIBRARIES", .when(traits: ["ImageLibraries"]))],
            linkerSettings: [.linkedLibrary("png16", .when(traits: ["ImageLibraries"]))]
        ),
        .target(name: "CFileSystem"),
        .target(name: "CPlaces", exclude: ["README.md", "places.bin"]),
        .target(name: "CSQLiteShims", linkerSettings: [.linkedLibrary("sqlite3")]),

        // Values and text shared by all modules. It can access neither files nor the network.
        .target(name: "MediaCore", swiftSettings: strict),

        // The operating system interfaces used by the foundations.
        .target(name: "MediaSystem", swiftSettings: strict),

        // Outcome codes and the error type, shared by all systems.
        .target(name: "Outcomes", dependencies: ["MediaSystem"], swiftSettings: strict),

        // Foundations.
        .target(
            name: "MediaTransport",
            dependencies: ["MediaCore", "CCurl", "CCurlShims", "MediaSystem", "Outcomes"],
            swiftSettings: strict
        ),
        .target(name: "MediaCrypto", dependencies: ["MediaCore", "COpenSSL", "MediaSystem"], swiftSettings: strict),
        .target(
            name: "MediaFiles",
            dependencies: [
                "MediaCore", "CFileSystem", "MediaSystem", "Outcomes",
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "MediaStore",
            dependencies: [
                "MediaCore",
                "CFileSystem", "CSQLiteShims", "MediaSystem", "Outcomes", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),

        // Protocols shared by several media servers.
        .target(name: "Tus", dependencies: ["MediaCore", "MediaTransport", "MediaCrypto"], swiftSettings: strict),

        // Systems.
        .target(name: "GigHive", dependencies: foundations + ["CZlib", "Tus"], swiftSettings: strict),
        .target(name: "PhotoSync", dependencies: foundations, swiftSettings: strict),
        // The data that a hash-only capture sends. It cannot access files or the store, since it does not import them.
        .target(
            name: "CaptureSubmission",
            dependencies: ["MediaCore", "MediaTransport", "MediaCrypto", "Outcomes"],
            swiftSettings: strict
        ),
        .target(
            name: "HashCapture",
            dependencies: [
                "MediaCore",
                "CaptureSubmission", "CImageShims", "CPlaces", "CZlib", "MediaTransport", "MediaCrypto", "MediaFiles",
                "MediaStore", "MediaSystem",
            ],
            swiftSettings: strict
        ),
        .target(name: "Tapes", dependencies: foundations, swiftSettings: strict),
        .target(
            name: "MediaKit",
            dependencies: systems + [
                "MediaTransport", "MediaCrypto", "MediaFiles", "MediaStore", "MediaSystem", "Outcomes",
            ],
            swiftSettings: strict
        ),

        // Command line.
        .target(
            name: "MediaCLI",
            dependencies: systems + foundations + [argumentParser, .product(name: "Yams", package: "Yams")],
            swiftSettings: strict
        ),
        .executableTarget(name: "mediactl", dependencies: ["MediaCLI"], swiftSettings: strict),

        // The entry points of the fuzzers; the tests use it to replay the corpora.
        .target(
            name: "FuzzEntries",
            dependencies: [
                "MediaCore",
                "CaptureSubmission", "GigHive", "HashCapture", "MediaCLI", "MediaCrypto", "MediaFiles", "MediaStore",
                "MediaTransport", "PhotoSync", "Tapes", "Tus",
            ],
            path: "Fuzz/Entries",
            swiftSettings: strict
        ),

        // Tests.
        .target(name: "CTestSupport", path: "Tests/CTestSupport"),
        .target(
            name: "TestSupport",
            dependencies: ["CTestSupport"],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediaCoreTests",
            dependencies: ["MediaCore", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediaTransportTests",
            dependencies: ["MediaTransport", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediaCryptoTests",
            dependencies: ["MediaCrypto", "TestSupport"],
            exclude: ["scripts"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediaFilesTests",
            dependencies: ["MediaFiles", "MediaSystem", "TestSupport"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "store-worker",
            dependencies: ["MediaStore", "MediaSystem"],
            path: "Tests/StoreWorker",
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediaStoreTests",
            dependencies: [
                "MediaCore",
                "MediaStore", "MediaSystem", "TestSupport", "store-worker",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TusTests",
            dependencies: ["Tus", "MediaCrypto", "MediaTransport", "TestSupport", sandbox],
            swiftSettings: strict
        ),
        .testTarget(
            name: "GigHiveTests",
            dependencies: [
                "MediaCore",
                "GigHive", "Tus", "MediaCrypto", "MediaFiles", "MediaStore", "MediaSystem", "MediaTransport",
                "TestSupport",
                sandbox,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PhotoSyncTests",
            dependencies: [
                "MediaCore",
                "PhotoSync", "MediaCrypto", "MediaFiles", "MediaStore", "MediaSystem", "MediaTransport",
                "TestSupport",
                sandbox,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CaptureSubmissionTests",
            dependencies: [
                "MediaCore",
                "CaptureSubmission", "MediaCrypto", "MediaTransport", "TestSupport", sandbox,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HashCaptureTests",
            dependencies: [
                "HashCapture", "CaptureSubmission", "MediaCrypto", "MediaFiles", "MediaStore", "MediaTransport",
                "TestSupport", sandbox,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TapesTests",
            dependencies: [
                "MediaCore",
                "Tapes", "MediaCrypto", "MediaFiles", "MediaStore", "MediaSystem", "MediaTransport", "TestSupport",
            ],
            exclude: ["scripts"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediaKitTests",
            dependencies: ["MediaKit", "TestSupport", sandbox],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CLITests",
            dependencies: systems + [
                "MediaCLI", "MediaCore", "MediaTransport", "MediaCrypto", "MediaFiles", "MediaStore", "Outcomes",
                "TestSupport", "mediactl", sandbox, argumentParser,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ProofTests",
            dependencies: ["MediaStore", "TestSupport", "mediactl", sandbox],
            swiftSettings: strict
        ),
        .testTarget(
            name: "GuardTests",
            dependencies: ["TestSupport", "mediactl", sandbox],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SandboxTests",
            dependencies: [
                "TestSupport", sandbox,
                .product(name: "Sandbox", package: "Sandbox"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "CaptureSubmission", "FuzzEntries", "MediaCrypto", "MediaTransport", "TestSupport", "Tus", "mediactl",
                sandbox,
            ],
            exclude: ["scripts"],
            swiftSettings: strict
        ),
    ]
)

// `make bench`: the transport and the tus protocol alone, for comparison with curl; depth analysis alone.
if Context.environment["MEDIACTL_BENCHMARKS"] == "1" {
    package.targets += [
        .executableTarget(
            name: "transport-bench",
            dependencies: ["MediaTransport", "Tus"],
            path: "Benchmarks/TransportBench",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "depth-bench",
            dependencies: ["CaptureSubmission", "HashCapture"],
            path: "Benchmarks/DepthBench",
            swiftSettings: strict
        ),
    ]
}

// `make fuzz`: links only with -sanitize=fuzzer. The C target provides the `main` that SwiftPM expects, under the
// fuzzer's name.
if Context.environment["MEDIACTL_FUZZ"] == "1" {
    package.products.append(.executable(name: "Fuzzer", targets: ["Fuzzer"]))
    package.targets += [
        .target(name: "CFuzzer", path: "Fuzz/CFuzzer"),
        .executableTarget(
            name: "Fuzzer",
            dependencies: ["FuzzEntries", "CFuzzer"],
            path: "Fuzz/Fuzzer",
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]
        ),
    ]
}

// For scripts/sanitize.sh, whose optimized build tests only the product: the optimizer crashes on some tests with the
// address sanitizer.
if Context.environment["MEDIACTL_TESTS_UNOPTIMIZED"] == "1" {
    for target in package.targets where target.type == .test {
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-Onone"])]
    }
}
