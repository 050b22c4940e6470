/// Controls of the fake OpenVINO library. Its "compiled model" is a text: the first byte says
/// what kind, the last what is added to every element of the result, so that a model whose bytes
/// are gone computes something else. So is its "IR", for which the last byte of the weights is
/// added where there are any. It imports on CPU, and compiles for CPU, GPU, and AUTO and HETERO
/// of these.
///
///   s  static:    f32 [2, 3] to f32 [2, 3], out = 2 * in + last byte of the text
///   d  dynamic:   f32 [1..4, 3] to f32 [1..4, 3]; the result is in a tensor of its own
///   p  passing:   f32 [2, 3], the result is the input, and so is its tensor: to set the one
///                 replaces the other, as in OpenVINO
///   c  copies:    f32 [2, 3] to three: the result, the input, and the result once more
///   z  scalar:    f32 [] to f32 []
///   i  integer:   i64 [] to i64 []
///
/// It also takes an IR in XML, of which it reads inputs and outputs alone: each byte of a result is
/// the last byte of the weights, or of the text, plus all bytes of all inputs.
#pragma once

extern "C" {

/// From now on the named function fails, until it is called with null. Others are unaffected.
void fake_openvino_fail(const char* function);

/// From now on blobs that a real OpenVINO has written have the inputs and outputs of this IR; null:
/// they are no models.
void fake_openvino_describe(const char* ir);

/// Objects that were made and not freed: cores, models, requests, tensors, ports, shapes, texts,
/// profiles.
int fake_openvino_live_objects();

/// How often an input or output tensor was bound to a request, since the library was loaded.
int fake_openvino_bindings();

/// Models that were imported and compiled, since the library was loaded.
int fake_openvino_imports();
int fake_openvino_compilations();

/// The named property of the model that was imported or compiled last, on its core or at its
/// compilation; an empty text where it has none. Valid until the next call.
const char* fake_openvino_property(const char* name);
}
